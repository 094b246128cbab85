package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"ciclo/migrations"
)

// release is set when an image is built: -ldflags "-X main.release=1.2.0".
var release = ""

type versionCommand struct{}

// Run says what this is, as precisely as the build knows.
func (versionCommand) Run(out io.Writer) error {
	name, golang := "development", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		golang = info.GoVersion
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
	fmt.Fprintf(out, "ciclo %s, schema %d, %s\n", name, migrations.Latest(), golang)
	return nil
}
