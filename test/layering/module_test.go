package layering_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/rejoin/rejoin"

// pkg is one package as its files say, whatever their build constraints.
type pkg struct {
	path        string   // within the module, "" for its root
	imports     []string // of files that are built
	testImports []string // of _test.go files
	doc         string   // the package comment of doc.go, "" if none
}

// load reads every package of the module at root.
func load(t *testing.T, root string) []pkg {
	t.Helper()
	found := map[string]*pkg{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path != root && notOurs(path, d.Name()) {
				return fs.SkipDir
			}
			return nil
		case filepath.Ext(path) != ".go":
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = strings.TrimPrefix(filepath.ToSlash(dir), ".")
		if found[dir] == nil {
			found[dir] = &pkg{path: dir}
		}
		return found[dir].add(path)
	})
	require.NoError(t, err)

	var all []pkg
	for _, p := range found {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return all
}

// notOurs says whether the go command leaves a folder out of the module.
func notOurs(path, name string) bool {
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

func (p *pkg) add(path string) error {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	to := &p.imports
	if strings.HasSuffix(path, "_test.go") {
		to = &p.testImports
	}
	for _, imp := range f.Imports {
		*to = append(*to, importPath(imp))
	}
	if filepath.Base(path) == "doc.go" && f.Doc != nil {
		p.doc = f.Doc.Text()
	}
	return nil
}

func importPath(imp *ast.ImportSpec) string {
	s, _ := strconv.Unquote(imp.Path.Value) // the parser has checked it
	return s
}

// ours are the packages of the module among imports, as paths within it.
func ours(imports []string) []string {
	var in []string
	for _, path := range imports {
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			in = append(in, rest)
		}
	}
	return in
}
