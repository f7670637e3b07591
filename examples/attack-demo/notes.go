package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	flowerrors "github.com/flowgate-mcp/flowgate/errors"
	"github.com/flowgate-mcp/flowgate/host"
)

// The limits, as the reader is told.
const (
	limitSelf = `limit: "self" lets it through, because to a label the public and the private things of one server are one.`
	limitTofu = `limit: the host has accepted webfetch on first use (tofu), and the ceiling is for unverified servers alone.`
)

func says(text string) func(*session) []string {
	return func(*session) []string { return []string{text} }
}

// uploaded fails unless the customers have really arrived where they were sent to.
func uploaded(_ context.Context, s *session) error {
	stored, err := s.stored(webfetch)
	if err == nil && (stored == "" || stored != s.models[0].answers["export_records"]) {
		err = errors.New("what was uploaded is not what was exported")
	}
	return err
}

func whatLeft(s *session) []string {
	stored, err := s.stored(webfetch)
	if err != nil {
		return nil // uploaded has said so
	}
	return []string{fmt.Sprintf("the web-fetch server has a file with all customers now, %d bytes", len(stored))}
}

// stored returns what was uploaded to a server.
func (s *session) stored(server string) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.uploads(server), "*"))
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	return all.String(), err
}

// noTasks fails if the records server has created a task.
func noTasks(ctx context.Context, s *session) error {
	tasks, err := s.lines[records].client.ListTasks(ctx, mcp.ListTasksRequest{})
	if err != nil {
		return fmt.Errorf("list the tasks: %+q", err.Error())
	}
	if n := len(tasks.Tasks); n > 0 {
		return fmt.Errorf("%d task(s) were created", n)
	}
	return nil
}

// labels tells which labels were on the wire to the records server.
func labels(s *session) (list []string) {
	for _, r := range s.results {
		if r.Server == records && r.Sent {
			list = append(list, "on the wire: "+plainText(r.label))
		}
	}
	return list
}

// sides puts the host's last record beside what the model was told.
func sides(s *session) []string {
	var list []string
	if n := len(s.records); n > 0 {
		list = append(list, "host:  "+attributes(s.records[n-1]))
	}
	told := s.models[0].told
	return append(list, "model: "+plainText(told[len(told)-1]))
}

// attributes returns all that a record says, in printable ASCII.
func attributes(r host.Record) string {
	var list []string
	for _, a := range r.LogValue().Group() {
		value := a.Value.String()
		if texts, ok := a.Value.Any().([]string); ok {
			value = "[" + strings.Join(texts, ", ") + "]"
		}
		list = append(list, a.Key+"="+value)
	}
	return strings.Join(list, " ")
}

// reasons are words that would tell a model why something was refused (H7).
var reasons = []string{"acceptFrom", "unverified", uris[webfetch], uris[mirror], flowerrors.ViolationKey}

// silent fails if a model was told a reason.
func silent(m *model) error {
	for _, text := range m.told {
		for _, word := range reasons {
			if strings.Contains(text, word) {
				return fmt.Errorf("the model was told %q", word)
			}
		}
	}
	return nil
}
