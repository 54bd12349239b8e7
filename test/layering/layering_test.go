package layering_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestImportsKeepTheirDirection(t *testing.T) {
	t.Parallel()
	report(t, checkImports(load(t, root)))
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	t.Parallel()
	report(t, checkDocs(load(t, root)))
}

func TestTheProductDoesNotImportTesting(t *testing.T) {
	t.Parallel()
	report(t, checkTesting(load(t, root)))
}

// The claims above are worth something only if they can fail.
func TestEachClaimCanFail(t *testing.T) {
	t.Parallel()
	at := func(pkgs ...string) (paths []string) {
		for _, p := range pkgs {
			paths = append(paths, module+"/"+p)
		}
		return paths
	}
	for _, c := range []struct {
		name string
		have pkg
		want string // "" means the package is fine
	}{
		{"relay on producer", pkg{path: "relay", imports: at("producer")}, "relay imports producer"},
		{"relay on a producer's agent", pkg{path: "relay", imports: at("producer/demo")}, "relay imports producer/demo"},
		{"relay's test on producer", pkg{path: "relay", testImports: at("producer")}, "relay (test) imports producer"},
		{"core on the fabric", pkg{path: "internal/agui", imports: at("subjects")}, "internal/agui imports subjects"},
		{"product on a test package", pkg{path: "producer/acp", imports: at("test/harness")}, "imports test/harness"},
		{"anything but the top", pkg{path: "internal/app", imports: at("cmd/rejoin")}, "imports cmd/rejoin"},
		{"product on the embedded server", pkg{path: "consumer", imports: at("internal/natsd")}, "imports internal/natsd"},
		{"no row", pkg{path: "internal/util"}, "add a row"},
		{"at the root", pkg{path: ""}, "add a row"},

		{"as ruled", pkg{path: "relay", imports: at("consumer", "internal/runs"), testImports: at("internal/natsd", "relay")}, ""},
		{"below itself", pkg{path: "relay", imports: at("relay/pages")}, ""},
		{"an agent", pkg{path: "producer/acp", imports: at("producer/agent")}, ""},
		{"a command", pkg{path: "cmd/rejoin", imports: at("relay", "producer/acp", "internal/app")}, ""},
		{"a test package", pkg{path: "test/e2e", imports: at("test/harness", "relay", "cmd/rejoin")}, ""},
		{"others' packages", pkg{path: "subjects", imports: []string{"fmt", "github.com/nats-io/nats.go"}}, ""},
	} {
		got := strings.Join(checkImports([]pkg{c.have}), "\n")
		if c.want == "" {
			require.Empty(t, got, c.name)
		} else {
			require.Contains(t, got, c.want, c.name)
		}
	}

	require.NotEmpty(t, checkDocs([]pkg{{path: "relay"}}))
	require.NotEmpty(t, checkDocs([]pkg{{path: "relay", doc: "Some words.\n"}}))
	require.Empty(t, checkDocs([]pkg{{path: "relay", doc: "Package relay serves.\n"}, {path: "cmd/rejoin", doc: "Command rejoin runs.\n"}}))

	require.NotEmpty(t, checkTesting([]pkg{{path: "relay", imports: []string{"testing"}}}))
	require.NotEmpty(t, checkTesting([]pkg{{path: "relay", imports: []string{"testing/fstest"}}}))
	require.Empty(t, checkTesting([]pkg{{path: "relay", testImports: []string{"testing"}}, {path: "test/harness", imports: []string{"testing"}}}))
}

// A walk that found nothing would make every claim true.
func TestTheWalkFindsThePackages(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, p := range load(t, root) {
		paths = append(paths, p.path)
	}
	require.Subset(t, paths, []string{"subjects", "producer", "consumer", "relay", "internal/natsd", "test/layering"})
	require.NotContains(t, paths, "internal/tools", "a module of its own")
}

func report(t *testing.T, faults []string) {
	t.Helper()
	for _, f := range faults {
		t.Error(f)
	}
}

func checkImports(pkgs []pkg) (faults []string) {
	for _, p := range pkgs {
		i := slices.IndexFunc(rules, func(r rule) bool { return fits(r.pkg, p.path) })
		if i < 0 {
			faults = append(faults, fmt.Sprintf("package %q has no rule: add a row to rules_test.go that says what it may import", p.path))
			continue
		}
		may := append(slices.Clone(rules[i].may), p.path+"/...")
		faults = append(faults, forbidden(p.path, p.imports, may)...)
		faults = append(faults, forbidden(p.path+" (test)", p.testImports, append(may, forTests...))...)
	}
	return faults
}

func forbidden(who string, imports, may []string) (faults []string) {
	for _, imp := range ours(imports) {
		if !slices.ContainsFunc(may, func(pattern string) bool { return fits(pattern, imp) }) {
			faults = append(faults, fmt.Sprintf("%s imports %s; allowed are %s", who, imp, strings.Join(may, ", ")))
		}
	}
	return faults
}

// fits says whether a package's path is what a pattern of the table means.
func fits(pattern, path string) bool {
	if pattern == anything {
		return !fits("cmd/...", path) && !fits("test/...", path)
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	return path == pattern
}

func checkDocs(pkgs []pkg) (faults []string) {
	for _, p := range pkgs {
		name := p.path[strings.LastIndex(p.path, "/")+1:]
		if !strings.HasPrefix(p.doc, "Package "+name+" ") && !strings.HasPrefix(p.doc, "Command "+name+" ") {
			faults = append(faults, fmt.Sprintf("%s needs a doc.go whose comment begins %q and says what the package owns", p.path, "Package "+name+" "))
		}
	}
	return faults
}

func checkTesting(pkgs []pkg) (faults []string) {
	for _, p := range pkgs {
		if fits("test/...", p.path) {
			continue
		}
		for _, imp := range p.imports {
			if imp == "testing" || strings.HasPrefix(imp, "testing/") || strings.HasPrefix(imp, "github.com/stretchr/testify") {
				faults = append(faults, fmt.Sprintf("%s imports %s in a file that is built; keep that to _test.go files and test/", p.path, imp))
			}
		}
	}
	return faults
}
