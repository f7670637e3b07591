package main

import (
	"context"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/internal/judge"
	"github.com/flowgate-mcp/flowgate/internal/peer"
	"github.com/flowgate-mcp/flowgate/policydecl"
)

// shot is one request and what came of it.
type shot struct {
	name     string
	about    string // for people
	label    string // JSON; empty for none
	parsed   policydecl.Label
	accepted bool // what the policy says of it
	want     []flowerrors.Rejected

	judge.Answer               // the most telling one
	times        int           // how often it was sent
	other        *judge.Answer // one that says something else
}

// record keeps what came back. The error is that of a server that was lost.
func (s *shot) record(got *peer.Answer, err error) error {
	a, err := judge.Read(got, err)
	if err != nil {
		return err
	}
	if s.times++; s.times == 1 {
		s.Answer = a
		return nil
	}
	if s.Answer.Same(&a) {
		return nil
	}
	before := s.Answer
	if a.GotThrough() || s.Outcome == judge.Refused && a.Outcome != judge.Refused {
		s.Answer, a = a, before
	}
	s.other = &a
	return nil
}

// cameBack says for people what answered a request.
func (s *shot) cameBack() string {
	text := s.Answer.Text()
	if s.other != nil {
		text += "; another time: " + s.other.Text()
	}
	return text
}

// reconsider finds out whom a refusal should name if it is one by another policy than
// the published one, as the refusal itself says. Or else a label would seem to have
// been changed on the way.
func (p *plan) reconsider(s *shot) {
	if s.Violation == nil || len(s.Violation.AcceptFrom) == 0 {
		return
	}
	applied, _ := policydecl.ReadPublished(map[string]any{"acceptFrom": s.Violation.AcceptFrom}, p.Policy)
	if v := p.Set.Decide(context.Background(), &s.parsed, applied).Violation(); v != nil {
		s.want = v.Rejected
	}
}
