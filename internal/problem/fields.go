package problem

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

var rawMessage = reflect.TypeFor[json.RawMessage]()

// fill sets the tagged fields of the struct that v points to. encoding/json
// would do the same in one call, but matches names in any case, and does not
// name the field that a type's own UnmarshalJSON refuses.
func fill(members map[string]json.RawMessage, v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() || p.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("problem: decoding into %T, need a pointer to a struct", v)
	}
	return fillStruct(members, p.Elem())
}

func fillStruct(members map[string]json.RawMessage, s reflect.Value) error {
	for i := range s.NumField() {
		f := s.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			if err := fillStruct(members, s.Field(i)); err != nil {
				return err
			}
			continue
		}
		raw, ok := members[name]
		if name == "" || name == "-" || !f.IsExported() || !ok || string(raw) == "null" {
			continue
		}
		if err := fillField(name, raw, s.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func fillField(name string, raw json.RawMessage, field reflect.Value) error {
	if field.Type() != rawMessage && loneSurrogate(raw) {
		return New(BadRequest, `%s has an escape that is no character (half of a surrogate pair); allowed is valid Unicode`, name)
	}
	err := json.Unmarshal(raw, field.Addr().Interface())
	var mismatch *json.UnmarshalTypeError
	var wrong *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return New(BadRequest, "%s %s", name, wrong.Detail)
	case errors.As(err, &mismatch):
		if mismatch.Field != "" {
			name += "." + mismatch.Field
		}
		return New(BadRequest, "%s must be %s, not %s", name, kindName(mismatch.Type), withArticle(mismatch.Value))
	}
	return New(BadRequest, "%s is malformed", name).Because(err)
}

// kindName says in JSON's words what a Go type takes.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return kindName(t.Elem())
	}
	return "a number in range"
}

// withArticle makes "number 1.5" from encoding/json into "a number".
func withArticle(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	}
	return "a " + kind
}
