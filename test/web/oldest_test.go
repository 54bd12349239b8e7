package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// oldest has the oldest peers that the client says it runs beside. The client's own folder has the newest.
const oldest = "oldest/node_modules"

// What runs beside the newest React, AI SDK and AG-UI client runs beside the oldest ones, too: the same tests, with those in them, and
// the same types.
func TestTheClientBesideTheOldestPeers(t *testing.T) {
	t.Parallel()
	require.DirExists(t, oldest, "run make setup")
	read(t, "oldest", "package.json", "package-lock.json")
	read(t, client, append([]string{"test"}, sources...)...)
	read(t, client+"/..", "testdata")
	t.Run("types", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		unpack(t, root, oldest)
		write(t, root, "package.json", `{"type":"module","private":true}`)
		write(t, root, "entries.ts", `import { RejoinAgent } from "@rejoin/client/agui";
import { RejoinTransport } from "@rejoin/client/ai";
import { useRejoin } from "@rejoin/client/react";
import type { AbstractAgent } from "@ag-ui/client";
import type { ChatTransport, UIMessage } from "ai";
export const agent: AbstractAgent = new RejoinAgent();
export const transport: ChatTransport<UIMessage> = new RejoinTransport();
export { useRejoin };
`)
		compile(t, root, "entries.ts", "--skipLibCheck", "--lib", "es2023,dom,dom.iterable,dom.asynciterable")
	})
	for _, name := range []string{"agui", "agui-acts", "agui-connect", "agui-unseen", "ai", "ai-react", "react"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			require.NoError(t, os.Symlink(absolute(t, client+"/node_modules"), filepath.Join(root, "node_modules")))
			out := filepath.Join(root, name+".test.mjs")
			args := []string{"test/" + name + ".test.ts", "--bundle", "--platform=node", "--format=esm", "--target=node20", "--log-level=warning",
				"--external:happy-dom", "--banner:js=import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);", "--outfile=" + out}
			for _, peer := range []string{"@ag-ui/client", "@ai-sdk/react", "ai", "react", "react-dom", "rxjs"} {
				args = append(args, "--alias:"+peer+"="+absolute(t, filepath.Join(oldest, peer)))
			}
			run(t, client, absolute(t, client+"/node_modules/.bin/esbuild"), args...)
			said := run(t, root, "node", "--test", "--test-force-exit", out) // an old React leaves a port open
			require.Regexp(t, `# pass [1-9]`, said)
		})
	}
}
