package agui

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxCopied bounds what the copies that patches ask for add to a state: a few dozen
	// of them double it a few dozen times.
	maxCopied = 16 << 20
	// maxPatchPath bounds how deep a patch may reach, so that a state does not nest
	// more deeply than it can be read.
	maxPatchPath = 100
)

// patcher applies JSON patches (RFC 6902). What it is given stays as it is: what lies
// on the way to a change is copied, the rest is shared.
type patcher struct{ room int }

// apply applies all operations, or none: false.
func (p *patcher) apply(doc any, raw []byte) (any, bool) {
	var ops []struct {
		Op    string          `json:"op"`
		Path  *string         `json:"path"`
		From  string          `json:"from"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(raw, &ops) != nil {
		return nil, false
	}
	for _, op := range ops {
		if op.Path == nil {
			return nil, false
		}
		path, ok := steps(*op.Path)
		if !ok {
			return nil, false
		}
		from, ok := steps(op.From)
		if !ok {
			return nil, false
		}
		var value any
		if op.Value != nil {
			value = parseJSON(op.Value)
		}
		switch op.Op {
		case "add":
			doc, ok = add(doc, path, value)
		case "remove":
			doc, ok = remove(doc, path)
		case "replace":
			if _, ok = lookup(doc, path); ok {
				doc, ok = replace(doc, path, value)
			}
		case "move":
			if value, ok = lookup(doc, from); ok && !slices.Equal(from, path) {
				if doc, ok = remove(doc, from); ok {
					doc, ok = add(doc, path, value)
				}
			}
		case "copy":
			if value, ok = lookup(doc, from); ok {
				if p.room -= size(value, p.room); p.room < 0 {
					return nil, false
				}
				doc, ok = add(doc, path, value)
			}
		case "test":
			var have any
			have, ok = lookup(doc, path)
			ok = ok && reflect.DeepEqual(have, value)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return doc, true
}

// steps are the parts of a JSON pointer.
func steps(pointer string) ([]string, bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' || strings.Count(pointer, "/") > maxPatchPath {
		return nil, false
	}
	parts := strings.Split(pointer[1:], "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts, true
}

func lookup(doc any, path []string) (any, bool) {
	for _, step := range path {
		var ok bool
		switch v := doc.(type) {
		case map[string]any:
			doc, ok = v[step]
		case []any:
			var i int
			if i, ok = index(step, len(v)); ok {
				doc = v[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return doc, true
}

// index is an element of an array of n.
func index(step string, n int) (int, bool) {
	i, err := strconv.ParseUint(step, 10, 31)
	return int(i), err == nil && int(i) < n && strconv.FormatUint(i, 10) == step
}

// change gives a copy of doc in which what holds the last step of a path is what do
// makes of it. The path has a step.
func change(doc any, path []string, do func(holder any, step string) (any, bool)) (any, bool) {
	if len(path) == 1 {
		return do(doc, path[0])
	}
	child, ok := lookup(doc, path[:1])
	if !ok {
		return nil, false
	}
	if child, ok = change(child, path[1:], do); !ok {
		return nil, false
	}
	return put(doc, path[0], child)
}

// put gives a copy of a map or an array with another element in its place.
func put(holder any, step string, value any) (any, bool) {
	switch v := holder.(type) {
	case map[string]any:
		v = maps.Clone(v)
		v[step] = value
		return v, true
	case []any:
		i, ok := index(step, len(v))
		if ok {
			v = slices.Clone(v)
			v[i] = value
		}
		return v, ok
	}
	return nil, false
}

func replace(doc any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	return change(doc, path, func(holder any, step string) (any, bool) { return put(holder, step, value) })
}

func add(doc any, path []string, value any) (any, bool) {
	if len(path) == 0 {
		return value, true
	}
	return change(doc, path, func(holder any, step string) (any, bool) {
		v, ok := holder.([]any)
		if !ok {
			return put(holder, step, value)
		}
		i, ok := len(v), true
		if step != "-" {
			i, ok = index(step, len(v)+1)
		}
		if !ok {
			return nil, false
		}
		return slices.Insert(slices.Clone(v), i, value), true
	})
}

func remove(doc any, path []string) (any, bool) {
	if len(path) == 0 {
		return nil, true
	}
	return change(doc, path, func(holder any, step string) (any, bool) {
		switch v := holder.(type) {
		case map[string]any:
			_, ok := v[step]
			v = maps.Clone(v)
			delete(v, step)
			return v, ok
		case []any:
			i, ok := index(step, len(v))
			if ok {
				v = slices.Delete(slices.Clone(v), i, i+1)
			}
			return v, ok
		}
		return nil, false
	})
}

// size is how long a value is as JSON, about, or more than limit.
func size(v any, limit int) int {
	n := 2
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if n += len(key) + 4; n <= limit {
				n += size(e, limit-n)
			}
			if n > limit {
				break
			}
		}
	case []any:
		for _, e := range v {
			if n++; n <= limit {
				n += size(e, limit-n)
			}
			if n > limit {
				break
			}
		}
	case string:
		n += len(v)
	case json.Number:
		n += len(v)
	default:
		n += 5
	}
	return n
}
