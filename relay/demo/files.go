package demo

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"sync"
)

//go:embed dist
var dist embed.FS

// index is the file that /demo is.
const index = "index.html"

// types are those of the files that a page may have.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one that is served as it is.
type file struct {
	body      []byte
	mediaType string
	etag      string
}

// files are those of dist by their names.
var files = sync.OnceValue(func() map[string]file {
	all := map[string]file{}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, e := range entries {
		body, err := fs.ReadFile(dist, path.Join("dist", e.Name()))
		mediaType := types[path.Ext(e.Name())]
		if err != nil || mediaType == "" {
			panic(fmt.Sprintf("dist/%s cannot be served: %v", e.Name(), err)) // a test sees it first
		}
		sum := sha256.Sum256(body)
		all[e.Name()] = file{body, mediaType, `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	return all
})
