package layering_test

// anything stands for every package but cmd and test: the top of the house may
// use all of it, and nothing else may use the top.
const anything = "*"

// rules say which of the module's packages a package may import, besides the
// packages below its own path. "x/..." is every package below x, and x itself
// unless it has its own row. The first row that fits counts.
//
// Data flows one way: producers and relays meet in NATS and nowhere else.
var rules = []rule{
	{"subjects", nil},

	{"internal/agui", nil},
	{"internal/auth", allow("subjects")},
	{"internal/config", nil},
	{"internal/natsd", nil},
	{"internal/problem", nil},
	{"internal/ops", allow("internal/problem")},
	{"internal/runs", allow("internal/agui", "subjects")},
	{"internal/active", allow("internal/runs", "subjects")},
	{"internal/turns", allow("internal/runs", "subjects")},
	{"internal/tracing", allow("subjects")},
	{"internal/killswitch", allow("internal/runs", "subjects")},
	{"internal/history", allow("internal/runs", "subjects")},

	{"producer", allow("internal/runs", "internal/agui", "internal/tracing", "subjects")},
	{"producer/agent", allow("internal/agui", "subjects")},
	{"producer/save", allow("internal/history", "internal/agui", "internal/tracing", "subjects")},
	{"producer/worker", allow("producer", "producer/agent", "producer/save", "internal/history", "internal/runs", "internal/tracing", "internal/turns", "internal/agui", "subjects")},
	{"producer/demo", allow("producer", "producer/agent", "internal/agui", "subjects")},
	{"producer/agui", allow("producer/agent", "internal/agui", "internal/tracing", "subjects")},
	{"producer/acp", allow("producer/agent", "internal/agui", "internal/tracing", "subjects")},
	{"producer/acp/...", allow("producer/agent", "internal/agui", "subjects")},
	{"producer/ingest", allow("producer", "internal/auth", "internal/runs", "internal/problem", "subjects")},
	{"producer/...", allow("producer", "internal/runs", "internal/turns", "internal/problem", "internal/agui", "subjects")},

	{"consumer", allow("internal/runs", "internal/agui", "subjects")},
	{"consumer/web", nil},

	{"internal/probe", allow("consumer", "subjects")},

	{"relay/uimessages", allow("internal/agui", "subjects")},
	{"relay", allow("consumer", "internal/active", "internal/auth", "internal/history", "internal/killswitch", "internal/ops", "internal/runs", "internal/tracing", "internal/turns", "internal/problem", "internal/agui", "subjects")},

	{"relay/demo", allow("internal/problem")},

	{"internal/bench", allow("subjects", "producer")},
	{"internal/bench/client", allow("internal/bench/stamp", "subjects")},
	{"internal/bench/...", nil},

	{"internal/app", allow(anything)},
	{"cmd/...", allow(anything)},
	{"test/...", allow(anything, "test/...", "cmd/...")},
}

// forTests is what the tests of any package may import besides.
var forTests = allow("internal/natsd", "test/collector", "test/harness", "test/proxy")

type rule struct {
	pkg string
	may []string
}

func allow(pkgs ...string) []string { return pkgs }
