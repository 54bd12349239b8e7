package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/rejoin/rejoin/producer/acp/rpc"
)

// maxFile is the size of the largest file that agents may read or write through us.
const maxFile = 4 << 20

// files serves fs/* inside a root. No path and no link leads out of it.
type files struct {
	root  *os.Root
	names []string // absolute paths of the root: as configured, and without links
}

func newFiles(root *os.Root, dir string) *files {
	f := &files{root: root, names: []string{dir}}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		f.names = append(f.names, real)
	}
	return f
}

// inside gives the path of something inside the root, relative to it.
func (f *files) inside(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", rpc.Errorf(rpc.CodeInvalidParams, "the path %.300q has to be absolute", path)
	}
	for _, name := range f.names {
		if rel, err := filepath.Rel(name, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", rpc.Errorf(rpc.CodeInvalidParams, "the path %.300q is outside of %s", path, f.names[0])
}

// serve serves a request for a file, if it is one.
func (f *files) serve(method string, params json.RawMessage, reply rpc.Reply) bool {
	switch method {
	case "fs/read_text_file":
		reply(f.read(params))
	case "fs/write_text_file":
		reply(object{}, f.write(params))
	default:
		return false
	}
	return true
}

func (f *files) read(params json.RawMessage) (any, error) {
	var p struct {
		Path  string  `json:"path"`
		Line  *uint32 `json:"line"`
		Limit *uint32 `json:"limit"`
	}
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	file, err := f.open(p.Path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fault(p.Path, err)
	case len(b) > maxFile:
		return nil, rpc.Errorf(rpc.CodeInternal, "%.300q is larger than %d bytes", p.Path, maxFile)
	case !utf8.Valid(b):
		return nil, rpc.Errorf(rpc.CodeInternal, "%.300q is no text in UTF-8", p.Path)
	}
	return object{"content": lines(string(b), p.Line, p.Limit)}, nil
}

// lines gives limit lines of a text from line on, which counts from 1. nil is no limit.
func lines(text string, line, limit *uint32) string {
	if line != nil {
		for range max(*line, 1) - 1 {
			_, rest, more := strings.Cut(text, "\n")
			if text = rest; !more {
				break
			}
		}
	}
	if limit == nil {
		return text
	}
	end := 0
	for range *limit {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return text
		}
		end += i + 1
	}
	return text[:end]
}

func (f *files) write(params json.RawMessage) error {
	var p struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := decode(params, &p); err != nil {
		return err
	}
	switch {
	case p.Content == nil:
		return rpc.Errorf(rpc.CodeInvalidParams, "content is missing")
	case len(*p.Content) > maxFile:
		return rpc.Errorf(rpc.CodeInvalidParams, "the content is larger than %d bytes", maxFile)
	}
	rel, err := f.inside(p.Path)
	if err != nil {
		return err
	}
	if err := f.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return fault(p.Path, err)
	}
	file, err := f.open(p.Path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Truncate(0); err != nil {
		return fault(p.Path, err)
	}
	if _, err := io.WriteString(file, *p.Content); err != nil {
		return fault(p.Path, err)
	}
	if err := file.Close(); err != nil {
		return fault(p.Path, err)
	}
	return nil
}

// open opens a regular file. It does not wait for the other end of a pipe.
func (f *files) open(path string, flag int) (*os.File, error) {
	rel, err := f.inside(path)
	if err != nil {
		return nil, err
	}
	file, err := f.root.OpenFile(rel, flag|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, fault(path, err)
	}
	if at, err := file.Stat(); err != nil || !at.Mode().IsRegular() {
		file.Close()
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%.300q is no regular file", path)
	}
	return file, nil
}

// fault is an error of the file system, as the agent is told.
func fault(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return rpc.Errorf(rpc.CodeNotFound, "%.300q does not exist", path)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return rpc.Errorf(rpc.CodeInternal, "%.300q: %v", path, err)
}

// decode reads the params of a request.
func decode(params json.RawMessage, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return rpc.Errorf(rpc.CodeInvalidParams, "%s", fmt.Sprintf("the params are not as they should be: %v", err))
	}
	return nil
}
