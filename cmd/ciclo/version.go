package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"ciclo/migrations"
)

// release is set when an image is built: -ldflags "-X main.release=1.2.0".
var release = ""

type versionCommand struct{}

// Run says what this is, as precisely as the build knows.
func (versionCommand) Run(out io.Writer) error {
	fmt.Fprintf(out, "ciclo %s, schema %d, %s\n", buildVersion(), migrations.Latest(), runtime.Version())
	return nil
}

// buildVersion is the release and the commit, as far as the build knows them.
func buildVersion() string {
	name := "development"
	if info, ok := debug.ReadBuildInfo(); ok {
		changed := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && len(s.Value) >= 12:
				name = s.Value[:12]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
		name += changed
	}
	if release != "" {
		name = release + " (" + name + ")"
	}
	return name
}
