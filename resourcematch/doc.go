// Package resourcematch compares URIs: principals with each other, and the URI
// of a resource with the patterns for which a policy was set. It decides
// nothing and rewrites nothing; what it returns is for comparing only.
//
// # Principals
//
// [Canonical] gives the one spelling under which server URIs and urns are
// compared (rules U1 to U4, after RFC 3986, RFC 8141 and RFC 8707). Whatever
// it cannot read without doubt is unusable and equals nothing.
//
// # Resources
//
// A request names a resource by a string that mcp-go compares exactly or with a
// template, and that a handler may then decode, clean or cut before it opens
// anything. So one string has several readings (R2). [Matcher.Match] looks all
// of them up and returns every pattern that governs any reading:
//
//   - with query and fragment dropped, and with "?" and "#" as ordinary
//     characters, because a handler behind {+path} is given them (R1);
//   - as sent, and decoded once, twice and so on until nothing changes, each time
//     with and without the separators / \ ? # ; %;
//   - with dot segments as they are and resolved, the authority once kept apart
//     and once counted as the first segment, because a template such as
//     records://{+path} hands it over as one;
//   - with empty segments and slashes at the end as they are and removed;
//   - with parameters after ";" as they are and removed, so that "..;" is "..";
//   - with "\" as it is and as "/";
//   - for the scheme file, with an authority as it is, dropped, and as the first
//     segment.
//
// These are applied in every order and combination, within a budget; a URI that
// has more readings than the budget allows is refused, not read halfway. Scheme,
// authority and the hexadecimal digits of escapes match in either case. Letters
// beyond ASCII are never folded or normalised, "+" is not a space, and default
// ports, user information and other names of one host are not interpreted: a
// handler that fetches what it is sent must compare such URIs itself.
//
// # Duties of the neighbours
//
//   - The caller MUST apply every policy that a match names, and the default
//     policy as well if bare is true. Any of them refuses: strictest wins.
//   - The caller MUST refuse the request on an error.
//   - The caller MUST match the bytes that are routed, and MUST NOT clean or
//     decode them before matching or replace them by a reading afterwards.
//   - Whoever registers a template with mcp-go may rely on this: if the regular
//     expression that mcp-go makes of the template matches the URI, Match
//     reports that template. The converse does not hold.
//
// A [Matcher] is immutable and safe for concurrent use. The package does no I/O
// and keeps no state that changes an answer.
package resourcematch
