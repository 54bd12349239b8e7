package agui_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reduced is what a client makes of a sequence of events. It knows nothing of
// the package under test: it decodes with encoding/json, and keeps text as
// UTF-16 the way a browser does, so that a surrogate pair split over two deltas
// is a character in the end.
type reduced struct {
	Order  []string            // messages, tool calls and reasoning by first appearance
	Text   map[string][]uint16 // what each of them says
	Fields map[string]string   // the other fields of the newest content event of each
	Log    []string            // everything else, each with how much had been said before it
	State  any

	said  int
	chunk string // whom a chunk without an id belongs to
}

func reduce(lines []string) *reduced {
	r := &reduced{Text: map[string][]uint16{}, Fields: map[string]string{}}
	for _, line := range lines {
		r.apply(line)
	}
	return r
}

func (r *reduced) apply(line string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		panic(fmt.Sprintf("%v in %q", err, line))
	}
	str := func(key string) (s string) {
		_ = json.Unmarshal(fields[key], &s)
		return s
	}
	typ := str("type")
	delta := string(fields["delta"])
	isText := strings.HasPrefix(delta, `"`)
	chunk := r.chunk
	if !strings.HasSuffix(typ, "_CHUNK") {
		r.chunk = ""
	}
	switch typ {
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS":
		if isText {
			who := typ + " " + string(fields["messageId"]) + string(fields["toolCallId"])
			r.say(who, delta)
			for _, key := range []string{"type", "messageId", "toolCallId", "delta", "timestamp"} {
				delete(fields, key)
			}
			rest, _ := json.Marshal(fields)
			r.Fields[who] = string(rest)
			return
		}
	case "TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK":
		if id := str("messageId") + str("toolCallId"); id != "" {
			chunk = typ + " " + id
		}
		r.chunk = chunk
		if isText && chunk != "" {
			r.say(chunk, delta)
		}
	case "STATE_SNAPSHOT":
		r.State = decode(fields["snapshot"])
	case "STATE_DELTA":
		next, err := patch(r.State, fields["delta"])
		if err != nil {
			r.Log = append(r.Log, "bad patch: "+err.Error())
			break
		}
		r.State = next
	case "MESSAGES_SNAPSHOT":
		r.Order, r.Text, r.Fields = nil, map[string][]uint16{}, map[string]string{}
	}
	r.Log = append(r.Log, fmt.Sprintf("after %d units of %d: %s", r.said, len(r.Order), line))
}

func (r *reduced) say(who, delta string) {
	if _, ok := r.Text[who]; !ok {
		r.Order = append(r.Order, who)
		r.Text[who] = []uint16{}
	}
	units := units(delta[1 : len(delta)-1])
	r.Text[who] = append(r.Text[who], units...)
	r.said += len(units)
}

// units decodes the body of a JSON string to UTF-16, lone surrogates included.
func units(body string) (out []uint16) {
	for len(body) > 0 {
		if body[0] != '\\' {
			c, n := utf8.DecodeRuneInString(body)
			out = utf16.AppendRune(out, c)
			body = body[n:]
			continue
		}
		if body[1] == 'u' {
			u, err := strconv.ParseUint(body[2:6], 16, 16)
			if err != nil {
				panic(err)
			}
			out = append(out, uint16(u))
			body = body[6:]
			continue
		}
		out = append(out, map[byte]uint16{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}[body[1]])
		body = body[2:]
	}
	return out
}

func decode(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	_ = d.Decode(&v)
	return v
}

// member is a top-level field as encoding/json sees it.
type member struct {
	rawKey, key, value string
	at                 int // of the value
}

func members(line string) (out []member) {
	d := json.NewDecoder(strings.NewReader(line))
	must := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("%v in %q", err, line))
		}
	}
	_, err := d.Token()
	must(err)
	for d.More() {
		from := int(d.InputOffset())
		key, err := d.Token()
		must(err)
		to := int(d.InputOffset())
		from += strings.IndexByte(line[from:to], '"')
		var value json.RawMessage
		must(d.Decode(&value))
		out = append(out, member{rawKey: line[from:to], key: key.(string), value: string(value), at: int(d.InputOffset()) - len(value)})
	}
	return out
}

// merge is the rule of what may be merged, written down plainly: it returns the
// merged event, or false.
func merge(a, b string) (string, bool) {
	am, bm := members(a), members(b)
	rest := func(ms []member) (typ string, delta int, fields []string, ok bool) {
		delta = -1
		seen := map[string]bool{}
		for i, m := range ms {
			if strings.Contains(m.rawKey, `\`) || seen[m.key] {
				return "", 0, nil, false
			}
			seen[m.key] = true
			switch m.key {
			case "type":
				_ = json.Unmarshal([]byte(m.value), &typ)
			case "delta":
				delta = i
			}
			if m.key != "delta" && m.key != "timestamp" {
				fields = append(fields, m.rawKey+":"+m.value)
			}
		}
		slices.Sort(fields)
		return typ, delta, fields, delta >= 0 && ms[delta].value[0] == '"' && len(ms) <= 32
	}
	at, ad, af, aok := rest(am)
	bt, bd, bf, bok := rest(bm)
	if !aok || !bok || at != bt || !slices.Equal(af, bf) ||
		!slices.Contains([]string{"TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS"}, at) {
		return "", false
	}
	x, y := am[ad].value, bm[bd].value
	if len(x)-2+len(y)-2 > 1<<20 {
		return "", false
	}
	return a[:am[ad].at] + x[:len(x)-1] + y[1:] + a[am[ad].at+len(x):], true
}

// mergeAll folds by that rule, slowly.
func mergeAll(lines []string) (out []string) {
	for _, line := range lines {
		if n := len(out); n > 0 {
			if m, ok := merge(out[n-1], line); ok {
				out[n-1] = m
				continue
			}
		}
		out = append(out, line)
	}
	return out
}
