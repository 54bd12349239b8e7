package app

import (
	"runtime"
	"runtime/debug"
)

// Version says what was built, as far as the binary knows; "unknown" where it does not.
type Version struct {
	Version, Commit, Go string
	NATSClient          string
	NATSServer          string
}

// ReadVersion reads the binary's build information. linked is the version that the
// linker was told, which wins; it may be "".
func ReadVersion(linked string) Version {
	v := Version{Version: "unknown", Commit: "unknown", Go: runtime.Version(), NATSClient: "unknown", NATSServer: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if ok {
		if info.Main.Version != "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/nats-io/nats.go":
				v.NATSClient = m.Version
			case "github.com/nats-io/nats-server/v2":
				v.NATSServer = m.Version
			}
		}
	}
	if linked != "" {
		v.Version = linked
	}
	return v
}
