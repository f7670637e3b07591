package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// compared are the modules whose versions a reader has to know.
var compared = []string{
	"github.com/mark3labs/mcp-go",
	"github.com/cedar-policy/cedar-go",
	"github.com/open-policy-agent/opa",
}

// machine describes what the report ran on, without naming the machine itself.
func machine() []string {
	lines := []string{
		fmt.Sprintf("%s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH),
		fmt.Sprintf("%s, %d cores", cpuModel(), runtime.NumCPU()),
	}
	if load := loadAverage(); load != "" {
		lines = append(lines, "load average over the minute before the run: "+load)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, path := range compared {
			for _, dep := range info.Deps {
				if dep.Path == path {
					lines = append(lines, dep.Path+" "+dep.Version)
				}
			}
		}
	}
	return lines
}

// cpuModel returns the model of the processor where the system says it in the usual place.
func cpuModel() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	for line := range strings.Lines(string(raw)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "processor unknown"
}

// loadAverage returns the first of the system's load averages, or "".
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	load, _, _ := strings.Cut(string(raw), " ")
	return load
}
