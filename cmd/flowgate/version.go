package main

import (
	"runtime/debug"
	"strings"
)

// version is that of the module, as far as the build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// versionLine says for people which program this is.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return "flowgate " + version() + described(info)
}

// described says what it was built from and with, as far as the build knows.
func described(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	var parts []string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			parts = append(parts, "revision "+clean(s.Value, 40))
		case s.Key == "vcs.modified" && s.Value == "true":
			parts = append(parts, "modified")
		}
	}
	return " (" + strings.Join(append(parts, clean(info.GoVersion, 40)), ", ") + ")"
}
