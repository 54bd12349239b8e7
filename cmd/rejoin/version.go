package main

import (
	"context"
	"fmt"

	"github.com/rejoin/rejoin/internal/app"
	"github.com/rejoin/rejoin/internal/config"
)

var versionCommand = command{
	name: "version",
	about: config.About{
		Summary:  "say which version this is, and of what it was built",
		Examples: []string{"rejoin version"},
	},
	flags: func(*config.Set) action {
		return func(_ context.Context, std stdio) error {
			v := app.ReadVersion(version)
			fmt.Fprintf(std.out, "rejoin       %s\n", v.Version)
			if v.Commit != "unknown" {
				fmt.Fprintf(std.out, "commit       %s\n", v.Commit)
			}
			fmt.Fprintf(std.out, "go           %s\nnats.go      %s\nnats-server  %s\n", v.Go, v.NATSClient, v.NATSServer)
			return nil
		}
	},
}
