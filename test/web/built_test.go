package web_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources are what the client and everything made of it is built from.
var sources = []string{"src", "scripts", "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"}

// What the relay embeds is what its sources make, to the byte.
func TestTheDemoIsBuiltFromItsSources(t *testing.T) {
	t.Parallel()
	read(t, client, sources...)
	read(t, demo, "page", "build.sh")
	out := filepath.Join(t.TempDir(), "dist")
	run(t, demo, absolute(t, demo+"/build.sh"), out)
	made, kept := read(t, out, "."), read(t, demo+"/dist", ".")
	for name, body := range made {
		require.Equal(t, string(body), string(kept[name]), "relay/demo/dist/%s is stale: make web, and commit it", name)
		delete(kept, name)
	}
	require.Empty(t, kept, "what nothing makes any more: make web, and commit it")
}

// maxCore is what the client promises to stay under: 12 KB, minified. crowd.js is not a part of it: a page loads it when its
// browser runs out of connections, and not before.
const maxCore = 12 << 10

func TestTheCoreIsSmallAndNeedsNothing(t *testing.T) {
	t.Parallel()
	read(t, client, sources...)
	out := filepath.Join(t.TempDir(), "core.js")
	run(t, client, absolute(t, client+"/node_modules/.bin/esbuild"), "src/index.ts", "--bundle", "--minify", "--format=esm", "--external:./crowd.js", "--outfile="+out)
	core, err := os.ReadFile(out)
	require.NoError(t, err)
	t.Logf("the core has %d bytes of %d", len(core), maxCore)
	require.LessOrEqual(t, len(core), maxCore)
	require.NotRegexp(t, `(?m)(^|;)import\b|\bfrom"`, string(core), "nothing has to be installed beside it")
}

// The client's own tests, a file at a time.
func TestTheClient(t *testing.T) {
	t.Parallel()
	files := read(t, client, append(slices.Clone(sources), "test")...)
	read(t, client+"/..", "testdata")
	script := absolute(t, client+"/scripts/test.sh")
	run(t, client, script, "--build")
	tests := 0
	for name := range files {
		name, ok := strings.CutSuffix(filepath.Base(name), ".test.ts")
		if !ok {
			continue
		}
		tests++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, client, script, "--built", "build/test/"+name+".test.js")
		})
	}
	require.Positive(t, tests)
}
