package overrides

// WatchWith is Watch with another source of SIGHUP, for tests under a fake clock.
var WatchWith = watch
