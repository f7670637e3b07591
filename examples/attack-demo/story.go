package main

import (
	"context"
	"strings"

	"github.com/flowgate-mcp/flowgate/host"
)

// scenario is one part of the story.
type scenario struct {
	name, title string
	stages      []stage
}

// stage is a part of a scenario with servers and a host of its own. The servers enforce
// their policies, the records server is verified and the web-fetch server is not, unless it
// says otherwise.
type stage struct {
	off    bool        // the servers' policies are off
	plain  bool        // mcp-go's client alone, as an application of today has it
	host   host.Config // otherwise
	tofu   bool        // the host has accepted the web-fetch server on first use
	mirror bool        // there is a second web-fetch server, of somebody else
	legacy bool        // in the protocol of 2025-11-25, which has tasks and resources/subscribe
	turns  []turn

	// ask asks more of the servers before they end; an error says what is not as it must
	// be. tell returns what the reader is told after the steps.
	ask  func(context.Context, *session) error
	tell func(*session) []string
}

// turn is what the user says, in a fresh context of the model, and what must come of it.
type turn struct {
	user  string
	shown bool // the model is shown the descriptions of the records server
	steps []step
}

// step is what the model does next, and what must become of it: nothing else is
// accepted. Of what is allowed the handler must have run, and of nothing else.
type step struct {
	name, server, target string
	outcome              outcome
}

// What the user says. What the model is to do is spelled out, because it is scripted.
const (
	fetchPage  = "What do they charge?\nCALL webfetch fetch_page {\"url\":\"SITE/export\"}\n"
	fetchTasks = "What do they charge?\nCALL webfetch fetch_page {\"url\":\"SITE/tasks\"}\n"
	fetchPlain = "What do they charge?\nCALL webfetch fetch_page {\"url\":\"SITE/plain\"}\n"
	fetchOther = "What do they charge?\nCALL mirror fetch_page {\"url\":\"SITE/"
	search     = "Who is in Uppsala?\nCALL records search_records {\"query\":\"uppsala\"}\n"
	export     = "Show me all customers.\nCALL records export_records {\"table\":\"customers\"}\n"
	report     = "Sum them up in the background.\nTASK records report_records {\"table\":\"customers\"}\n"
	upload     = "Keep a copy.\nCALL webfetch upload_blob {\"content\":\"{export_records}\"}\n"
	note       = "Note them down.\nREAD webfetch notes://export?data={export_records}\n"
	watch      = "Tell me when they change.\nSUBSCRIBE webfetch notes://export?data={export_records}\n"
)

// Steps that come up often.
var (
	fetches = step{"fetch", webfetch, "fetch_page", allowed}
	exports = step{"export", records, "export_records", allowed}
)

// Hosts that leave the checks to the servers. They label what they send all the same.
var (
	noPrecheck = host.Config{DangerouslyIgnoreServerPolicies: true}
	noChecks   = host.Config{DangerouslyIgnoreServerPolicies: true, DangerouslyIgnoreCeiling: true}
)

// story returns all scenarios, and with them everything that must come out.
func story() []scenario {
	return append(chain(), append(exits(), rest()...)...)
}

// names returns the names of all scenarios.
func names() (list []string) {
	for _, sc := range story() {
		list = append(list, sc.name)
	}
	return list
}

// chain is the attack itself, without and with flow policy.
func chain() []scenario {
	return []scenario{
		{"today", "without flow policy the model does what the page says, and the customers are gone", []stage{
			{off: true, plain: true, ask: uploaded, tell: whatLeft, turns: []turn{{user: fetchPage, steps: []step{
				fetches, exports, {"upload", webfetch, "upload_blob", allowed}}}}},
		}},
		{"host-checks", "the same turn, and the host labels and checks what it sends: the export does not leave", []stage{
			{turns: []turn{{user: fetchPage, steps: []step{
				fetches, {"export", records, "export_records", precheck}}}}},
		}},
		{"server-checks", "a host that labels but does not check: the server refuses, its handler does not run", []stage{
			{host: noPrecheck, turns: []turn{{user: fetchPage, steps: []step{
				fetches, {"export", records, "export_records", rejected}}}}},
		}},
		{"ceiling", "what a verified server has said is not sent to an unverified one", []stage{
			{turns: []turn{{user: export + upload, steps: []step{
				exports, {"upload", webfetch, "upload_blob", ceiling}}}}},
		}},
	}
}

// exits are the ways out that are no plain tool call. The host closes each of them, and with its
// checks off the server does.
func exits() []scenario {
	return []scenario{
		{"read", "a read as an exit, because the URI carries the data", []stage{
			{turns: []turn{{user: export + note, steps: []step{
				exports, {"read", webfetch, noteTarget, ceiling}}}}},
			{mirror: true, host: noChecks, turns: []turn{{user: export + fetchOther + "read\"}", steps: []step{
				unchecked(exports), {"unchecked-fetch", mirror, "fetch_page", allowed},
				{"unchecked-read", webfetch, noteTarget, rejected}}}}},
		}},
		{"subscribe", "a subscription as an exit, likewise", []stage{
			{legacy: true, turns: []turn{{user: export + watch, steps: []step{
				exports, {"subscribe", webfetch, noteTarget, ceiling}}}}},
			{legacy: true, mirror: true, host: noChecks, turns: []turn{{user: export + fetchOther + "subscribe\"}", steps: []step{
				unchecked(exports), {"unchecked-fetch", mirror, "fetch_page", allowed},
				{"unchecked-subscribe", webfetch, noteTarget, rejected}}}}},
		}},
		{"task", "a task as an exit: refused before there is a task", []stage{
			{legacy: true, ask: noTasks, turns: []turn{{user: fetchTasks, steps: []step{fetches,
				{"report", records, "report_records", precheck},
				{"archive", records, "archive_records", precheck}}}}},
			{legacy: true, ask: noTasks, host: noPrecheck, turns: []turn{{user: fetchTasks, steps: []step{unchecked(fetches),
				{"unchecked-report", records, "report_records", rejected},
				{"unchecked-archive", records, "archive_records", rejected}}}}},
		}},
	}
}

// rest is what else there is to know.
func rest() []scenario {
	return []scenario{
		{"legitimate", "legitimate use is not affected: the page in one turn, the customers in a fresh one", []stage{
			{legacy: true, turns: []turn{
				{user: fetchPlain, steps: []step{fetches}},
				{user: search + export + report, shown: true, steps: []step{
					{"search", records, "search_records", allowed}, exports, {"report", records, "report_records", allowed}}}}},
		}},
		{"record", "what the host's record says, and what the model is told", []stage{
			{tell: sides, turns: []turn{{user: fetchPage, steps: []step{
				fetches, {"export", records, "export_records", precheck}}}}},
		}},
		{"unlabelled", "a client without labels is refused even if the user asks: nobody can tell who asks", []stage{
			{plain: true, turns: []turn{{user: export, steps: []step{{"export", records, "export_records", rejected}}}}},
		}},
		{"privacy", "servers learn how well the sources are known, and not which servers those are", []stage{
			{host: host.Config{Private: true}, tell: labels, turns: []turn{{user: export, steps: []step{exports}}}},
			{host: host.Config{Private: true}, turns: []turn{{user: fetchPage, steps: []step{
				fetches, {"export-after-page", records, "export_records", precheck}}}}},
			{host: host.Config{Private: true, DangerouslyIgnoreServerPolicies: true}, tell: labels, turns: []turn{{user: fetchPage, steps: []step{
				unchecked(fetches), {"unchecked-export", records, "export_records", rejected}}}}},
		}},
		{"limits", "what flow policy lets through", []stage{
			{tell: says(limitSelf), turns: []turn{{user: search + export, steps: []step{
				{"self-search", records, "search_records", allowed}, {"self-export", records, "export_records", allowed}}}}},
			{tofu: true, tell: says(limitTofu), turns: []turn{{user: export + upload, steps: []step{
				{"tofu-export", records, "export_records", allowed}, {"tofu-upload", webfetch, "upload_blob", allowed}}}}},
		}},
	}
}

// unchecked is a step again, with the host's checks off.
func unchecked(s step) step {
	s.name = "unchecked-" + s.name
	return s
}

const noteTarget = "notes://export?data=..."

// shortened leaves out of a URI the data that it carries away.
func shortened(target string) string {
	if before, _, found := strings.Cut(target, "?data="); found {
		return before + "?data=..."
	}
	return target
}
