package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"beckon/hub/ma2h"
)

// versionCmd says what was built.
type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

func (c *versionCmd) Run(sh *shell) error {
	if c.JSON {
		return sh.printJSON(struct {
			Version  string `json:"version"`
			Protocol string `json:"ma2h_version"`
			Go       string `json:"go"`
			System   string `json:"system"`
		}{version(), fmt.Sprintf("0.%d", ma2h.MaxMinor), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
	}
	return sh.print(fmt.Sprintf("beckon %s (MA2H 0.%d, %s, %s/%s)",
		version(), ma2h.MaxMinor, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// version is the module's version, or the commit that the build was made from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}
