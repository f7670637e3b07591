//go:build !unix

package peer

import "os/exec"

func ownGroup(*exec.Cmd) {}

// group is the child alone: without process groups nothing else can be ended.
type group struct{ cmd *exec.Cmd }

func (g *group) terminate() { g.kill() }

func (g *group) kill() { _ = g.cmd.Process.Kill() }

func (g *group) reaped() {}
