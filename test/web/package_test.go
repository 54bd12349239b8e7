package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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
	Publish struct {
		Access string
	} `json:"publishConfig"`
	Exports map[string]exported
}

// exported is one entry: two files, or a file as it is.
type exported struct{ Types, Default string }

func (e *exported) UnmarshalJSON(body []byte) error {
	if len(body) > 0 && body[0] == '"' {
		return json.Unmarshal(body, &e.Default)
	}
	type plain exported
	return json.Unmarshal(body, (*plain)(e))
}

// What would be published can be installed, beside what it names as peers and nothing else, and
// each of its entries runs in Node and has the types that TypeScript looks for.
func TestThePackageCanBeInstalled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	pkg := unpack(t, root, client+"/node_modules")
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
	require.Equal(t, "public", m.Publish.Access, "npm takes a package of a scope for a private one unless told otherwise")
	for entry, file := range m.Exports {
		if entry == "./package.json" {
			continue // bundlers read it
		}
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
	compile(t, root, "entries.ts", "--skipLibCheck", "--lib", "es2023,dom,dom.iterable,dom.asynciterable")
	// An application may have its libraries' types checked, and no more than the usual ones of a browser. Those of some peers are not so clean.
	write(t, root, "strict.ts", "import { connect } from "+quoted(m.Name)+";\nimport { Chat } from "+quoted(m.Name+"/chat")+";\nexport const both = [connect(), new Chat()];\n")
	compile(t, root, "strict.ts", "--lib", "es2022,dom")
}

// A bundler takes what is used of the package and leaves the rest; what only tabs without a stream of their own need is a file of its own.
func TestThePackageIsBundledInPieces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	unpack(t, root, client+"/node_modules")
	bundle := func(source string) map[string][]byte {
		write(t, root, "app.js", source)
		require.NoError(t, os.RemoveAll(filepath.Join(root, "out")))
		run(t, root, absolute(t, client+"/node_modules/.bin/esbuild"), "app.js", "--bundle", "--splitting", "--format=esm", "--outdir=out")
		return read(t, root, "out")
	}
	whole := bundle(`import { connect } from "@rejoin/client"; connect();`)
	require.NotContains(t, string(whole["out/app.js"]), `"/chats/live"`, "loaded with the page")
	require.Greater(t, len(whole), 1, "there is nothing to load later")
	part := bundle(`import { reduce } from "@rejoin/client/chat"; console.log(reduce([]));`)
	for name, body := range part {
		require.NotContains(t, string(body), "/chat/live", "%s has a connection that nothing uses", name)
	}
	require.Empty(t, strings.TrimSpace(regexp.MustCompile(`(?m)^//.*$`).ReplaceAllString(string(bundle(`import "@rejoin/client"; import "@rejoin/client/chat";`)["out/app.js"]), "")))
}

// compile checks the types of a file in root as TypeScript finds them in Node and for bundlers.
func compile(t *testing.T, root, file string, flags ...string) {
	t.Helper()
	for _, resolution := range [][]string{{"nodenext", "nodenext"}, {"esnext", "bundler"}} {
		all := append([]string{"--noEmit", "--strict", "--target", "es2022", "--types", "", "--module", resolution[0], "--moduleResolution", resolution[1]}, flags...)
		run(t, root, absolute(t, client+"/node_modules/.bin/tsc"), append(all, file)...)
	}
}

// unpack packs the client as npm publish would, and installs it in root beside the packages in
// peers. It is made of a copy, since others build in the client's folder meanwhile.
func unpack(t *testing.T, root, peers string) string {
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
	entries, err := os.ReadDir(peers)
	require.NoError(t, err)
	for _, e := range entries {
		require.NoError(t, os.Symlink(filepath.Join(absolute(t, peers), e.Name()), filepath.Join(root, "node_modules", e.Name())))
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
