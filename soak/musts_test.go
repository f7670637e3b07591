package soak_test

// events are things that have to happen at least once besides requests.
var events = []string{
	"overrides reloaded", "overrides reloaded by a server that is killed", "overrides with mistakes", "overrides applied",
	"changes of a tool", "changes of a resource",
	"kills of the HTTP server", "restarts of the HTTP server", "kills of stdio servers", "stdio servers whose client went",
	"requests lost with their server", "sessions opened", "streams of sessions",
	"slow readers over HTTP", "slow readers over stdio",
	"requests  half-written", "requests  hold: connection reset",
	"requests  hold, cancelled: ran", "requests  hold, left: left by the client", "requests  listen: left by the client",
}

// missing are the things that have to happen in a soak and have not yet: each event, each
// gated route run and refused, each open one run and each odd message turned away, on both
// transports and in each era that knows it.
func (s *soak) missing() (list []string) {
	for _, name := range events {
		if s.counts.n(name).Load() == 0 {
			list = append(list, name)
		}
	}
	want := func(q *query, outcomes ...outcome) {
		for _, o := range outcomes {
			if name := q.cell(o); s.seen.n(name).Load() == 0 {
				list = append(list, name)
			}
		}
	}
	for _, over := range []string{overHTTP, overStdio} {
		for _, era := range []string{legacy, modern} {
			eachRoute(era, func(r *route, outcomes ...outcome) { want(&query{route: r, era: era, over: over}, outcomes...) })
			for i := range odds {
				q := &query{odd: &odds[i], era: era, over: over}
				if q.silent() {
					want(q, unnoticed)
				} else {
					want(q, turned)
				}
			}
		}
	}
	return list
}

// eachRoute calls f for each route that an era knows, with what has to become of it.
func eachRoute(era string, f func(*route, ...outcome)) {
	for i := range gated {
		if r := &gated[i]; r.only == "" || r.only == era {
			f(r, ran, refused)
			if r.comes != "" {
				f(r, notThere)
			}
		}
	}
	for i := range open {
		if r := &open[i]; r.only == "" || r.only == era {
			f(r, ran)
		}
	}
}
