package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manifest is what matters here of a package.json.
type manifest struct {
	Name         string
	Version      string
	Dependencies map[string]string
	Peers        map[string]string `json:"peerDependencies"`
	PeersMeta    map[string]struct {
		Optional bool
	} `json:"peerDependenciesMeta"`
	Exports map[string]struct {
		Types   string
		Default string
	}
}

// What would be published can be installed, beside what it names as peers and nothing else, and
// each of its entries runs in Node and has the types that TypeScript looks for.
func TestThePackageCanBeInstalled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pkg := unpack(t, root)
	var m manifest
	body, err := os.ReadFile(filepath.Join(pkg, "package.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &m))
	require.Empty(t, m.Dependencies, "it needs nothing")
	for name := range m.Peers {
		require.True(t, m.PeersMeta[name].Optional, "%s is for one entry and must not be installed for the others", name)
	}

	var imports, lines []string
	require.NotEmpty(t, m.Exports)
	for entry, file := range m.Exports {
		for _, name := range []string{file.Types, file.Default} {
			require.FileExists(t, filepath.Join(pkg, name), entry)
		}
		name := m.Name + strings.TrimPrefix(entry, ".")
		imports = append(imports, name)
		lines = append(lines, "import * as e"+string(rune('a'+len(lines)))+" from "+quoted(name)+";\nexport { e"+string(rune('a'+len(lines)))+" };")
	}
	slices.Sort(imports)
	write(t, root, "package.json", `{"type":"module","private":true}`)
	write(t, root, "entries.mjs", `const said = {};
for (const name of `+list(imports)+`) said[name] = Object.keys(await import(name));
console.log(JSON.stringify(said));
`)
	var said map[string][]string
	require.NoError(t, json.Unmarshal([]byte(run(t, root, "node", "entries.mjs")), &said))
	for _, name := range imports {
		require.NotEmpty(t, said[name], "%s exports nothing", name)
	}

	write(t, root, "entries.ts", strings.Join(lines, "\n"))
	for _, resolution := range [][]string{{"nodenext", "nodenext"}, {"esnext", "bundler"}} {
		run(t, root, absolute(t, client+"/node_modules/.bin/tsc"), "--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable",
			"--types", "", "--skipLibCheck", "--module", resolution[0], "--moduleResolution", resolution[1], "entries.ts")
	}
}

// unpack packs the client as npm publish would, and installs it in root beside its peers. It is
// made of a copy, since others build in the client's folder meanwhile.
func unpack(t *testing.T, root string) string {
	t.Helper()
	work := t.TempDir()
	for path, body := range read(t, client, append(slices.Clone(sources), "LICENSE", "README.md")...) {
		write(t, work, path, string(body))
		if strings.HasSuffix(path, ".sh") {
			require.NoError(t, os.Chmod(filepath.Join(work, path), 0o755))
		}
	}
	modules := absolute(t, client+"/node_modules")
	require.NoError(t, os.Symlink(modules, filepath.Join(work, "node_modules")))
	run(t, work, "npm", "pack", "--pack-destination", work)
	packed, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	require.NoError(t, err)
	require.Len(t, packed, 1)

	pkg := filepath.Join(root, "node_modules", "@rejoin", "client")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	run(t, pkg, "tar", "-xzf", packed[0], "--strip-components=1")
	for path := range read(t, pkg, ".") {
		require.True(t, strings.HasPrefix(path, "dist/") || slices.Contains([]string{"package.json", "LICENSE", "README.md"}, path), "%s is published", path)
	}
	for _, name := range []string{"package.json", "LICENSE", "README.md"} {
		require.FileExists(t, filepath.Join(pkg, name))
	}
	entries, err := os.ReadDir(modules)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.Symlink(filepath.Join(modules, e.Name()), filepath.Join(root, "node_modules", e.Name())))
	}
	return pkg
}

func write(t *testing.T, folder, name, body string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(body), 0o644))
}

func quoted(s string) string {
	q, _ := json.Marshal(s) // a string always marshals
	return string(q)
}

func list(s []string) string {
	q, _ := json.Marshal(s)
	return string(q)
}
