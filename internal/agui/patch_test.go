package agui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// patch applies RFC 6902 operations, all or none.
func patch(doc any, raw []byte) (any, error) {
	var ops []struct {
		Op, Path, From string
		Value          json.RawMessage
	}
	if err := json.Unmarshal(raw, &ops); err != nil {
		return nil, errors.New("not a patch")
	}
	doc = clone(doc)
	for i, op := range ops {
		var err error
		value := decode(op.Value)
		switch op.Op {
		case "add":
			doc, err = edit(doc, split(op.Path), func(at any, key string) (any, error) { return insert(at, key, value) })
		case "remove":
			doc, _, err = remove(doc, op.Path)
		case "replace":
			if doc, _, err = remove(doc, op.Path); err == nil {
				doc, err = edit(doc, split(op.Path), func(at any, key string) (any, error) { return insert(at, key, value) })
			}
		case "move":
			if doc, value, err = remove(doc, op.From); err == nil {
				doc, err = edit(doc, split(op.Path), func(at any, key string) (any, error) { return insert(at, key, value) })
			}
		case "copy", "test":
			var got any
			from := op.From
			if op.Op == "test" {
				from = op.Path
			}
			if _, got, err = remove(clone(doc), from); err == nil && op.Op == "test" && !reflect.DeepEqual(got, value) {
				err = errors.New("test failed")
			} else if err == nil && op.Op == "copy" {
				doc, err = edit(doc, split(op.Path), func(at any, key string) (any, error) { return insert(at, key, got) })
			}
		default:
			err = errors.New("unknown op")
		}
		if err != nil {
			return nil, fmt.Errorf("op %d: %w", i, err)
		}
	}
	return doc, nil
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

func split(path string) []string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts[1:]
}

var errPath = errors.New("no such path")

// edit replaces what holds the last step of a path by what do makes of it. The
// empty path is the document itself.
func edit(doc any, path []string, do func(at any, key string) (any, error)) (any, error) {
	if len(path) == 0 {
		root, err := do(map[string]any{}, "")
		if err != nil {
			return nil, err
		}
		return root.(map[string]any)[""], nil
	}
	if len(path) == 1 {
		return do(doc, path[0])
	}
	switch v := doc.(type) {
	case map[string]any:
		child, ok := v[path[0]]
		if !ok {
			return nil, errPath
		}
		next, err := edit(child, path[1:], do)
		v[path[0]] = next
		return v, err
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(v) {
			return nil, errPath
		}
		v[i], err = edit(v[i], path[1:], do)
		return v, err
	}
	return nil, errPath
}

func insert(at any, key string, value any) (any, error) {
	switch v := at.(type) {
	case map[string]any:
		v[key] = value
		return v, nil
	case []any:
		i, err := strconv.Atoi(key)
		if key == "-" {
			i, err = len(v), nil
		}
		if err != nil || i < 0 || i > len(v) {
			return nil, errPath
		}
		return slices.Insert(v, i, value), nil
	}
	return nil, errPath
}

func remove(doc any, path string) (any, any, error) {
	if path == "" {
		return nil, doc, nil
	}
	var gone any
	doc, err := edit(doc, split(path), func(at any, key string) (any, error) {
		switch v := at.(type) {
		case map[string]any:
			var ok bool
			if gone, ok = v[key]; !ok {
				return nil, errPath
			}
			delete(v, key)
			return v, nil
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, errPath
			}
			gone = v[i]
			return slices.Delete(v, i, i+1), nil
		}
		return nil, errPath
	})
	return doc, gone, err
}
