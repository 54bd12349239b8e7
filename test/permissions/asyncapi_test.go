package permissions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/rejoin/rejoin/subjects"
)

// document is what is compared of deploy/asyncapi.yaml.
type document struct {
	Version  string               `yaml:"asyncapi"`
	Streams  map[string]stream    `yaml:"x-streams"`
	Channels map[string]channel   `yaml:"channels"`
	Ops      map[string]operation `yaml:"operations"`
}

type stream struct {
	Subjects  []string `yaml:"subjects"`
	Retention string   `yaml:"retention"`
	Discard   string   `yaml:"discard"`
	MaxMsgs   int64    `yaml:"max-msgs-per-subject"`
	MaxAge    string   `yaml:"max-age"`
	Republish *struct {
		From string `yaml:"from"`
		To   string `yaml:"to"`
	} `yaml:"republish"`
	Consumer *struct {
		Name          string `yaml:"name"`
		AckWait       string `yaml:"ack-wait"`
		MaxAckPending int    `yaml:"max-ack-pending"`
	} `yaml:"consumer"`
}

type channel struct {
	Address    string         `yaml:"address"`
	Stream     string         `yaml:"x-stream"`
	Parameters map[string]any `yaml:"parameters"`
	Messages   map[string]any `yaml:"messages"`
}

type operation struct {
	Action  string `yaml:"action"`
	Channel struct {
		Ref string `yaml:"$ref"`
	} `yaml:"channel"`
	Tags []struct {
		Name string `yaml:"name"`
	} `yaml:"tags"`
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// pattern is the address with a wildcard for every parameter but the place of a control,
// which is one token or more.
func (c *channel) pattern() string {
	return parameter.ReplaceAllString(strings.ReplaceAll(c.Address, "{place}", ">"), "*")
}

func read(t *testing.T) (document, map[string]any) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/asyncapi.yaml")
	require.NoError(t, err)
	var d document
	require.NoError(t, yaml.Unmarshal(text, &d))
	var whole map[string]any
	require.NoError(t, yaml.Unmarshal(text, &whole))
	return d, whole
}

// names are what package subjects calls things: a subject of each kind that it makes.
func names(t *testing.T) map[string]string {
	t.Helper()
	id := subjects.NewRunID(0)
	must := func(s string, err error) string {
		require.NoError(t, err)
		return s
	}
	key := func(s string, err error) string { return subjects.KeySubject(must(s, err)) }
	pointer := must(subjects.PointerKey("", "chat"))
	change := strings.NewReplacer("*", "x").Replace
	return map[string]string{
		"RunSubject": subjects.RunSubject(id), "LiveSubject": subjects.LiveSubject(id),
		"TurnSubject":    must(subjects.TurnSubject("send", id)),
		"ControlSubject": subjects.ControlSubject(id, "answer.q"), "LiveControlSubject": subjects.LiveControlSubject(id, "ended"),
		"HistorySubject": must(subjects.HistorySubject("", "chat")),
		"PointerKey":     subjects.KeySubject(pointer), "RunKey": subjects.KeySubject(subjects.RunKey(id)),
		"SegmentKey":     subjects.KeySubject(subjects.SegmentKey(id, 0)),
		"SegmentPartKey": subjects.KeySubject(subjects.SegmentPartKey(id, 0, "w", 1)),
		"TurnKey":        subjects.KeySubject(subjects.TurnKey(id)), "TurnPartsSubject": change(subjects.TurnPartsSubject(id)),
		"MemoryKey": key(subjects.MemoryKey("", "chat")), "SwitchKey": key(subjects.SwitchKey("tenant")),
		"CanaryKey": subjects.KeySubject(subjects.CanaryKey("p")), "LeaseSubject": subjects.LeaseSubject("p"),
		"PointerSubject": subjects.PointerSubject(pointer), "RunChangesSubject": change(subjects.RunChangesSubject),
		"SwitchChangesSubject": change(subjects.SwitchChangesSubject),
	}
}

// Others of package subjects that name no kind of their own: patterns over those above,
// inverses, and the buckets' prefix.
var derived = []string{"KeySubject", "KeyOfSubject", "RunOfSubject", "RunKeysSubject", "PointerKeysSubject", "SegmentKeysSubject",
	"SegmentsSubject", "RunOfSegmentSubject", "PointerChangesSubject", "LeaseKeysSubject", "TurnKeysSubject", "RunOfTurnKeySubject",
	"ControlsSubject", "LiveControlsSubject", "RunOfControlSubject", "SwitchAllKey", "ParseSwitchKey", "SwitchKeysSubject"}

func TestTheDocumentNamesWhatTheCodeDoes(t *testing.T) {
	t.Parallel()
	d, whole := read(t)
	require.Equal(t, "3.0.0", d.Version)
	byCode := names(t)
	hit := map[string]bool{}
	for name, subject := range byCode {
		var found []string
		for c, ch := range d.Channels {
			if jetstreamMatch(ch.pattern(), subject) {
				found = append(found, c)
				hit[c] = true
			}
		}
		require.Len(t, found, 1, "channels for subjects.%s (%s)", name, subject)
	}
	for c, ch := range d.Channels {
		require.True(t, hit[c], "no name of package subjects is at channel %s", c)
		var used []string
		for _, m := range parameter.FindAllStringSubmatch(ch.Address, -1) {
			used = append(used, m[1])
		}
		require.Len(t, ch.Parameters, len(used), c)
		for _, p := range used {
			require.Contains(t, ch.Parameters, p, c)
		}
		require.NotEmpty(t, ch.Messages, c)
	}
	for _, name := range exported(t) {
		_, named := byCode[name]
		require.True(t, named || slices.Contains(derived, name), "subjects.%s is new: is it in deploy/asyncapi.yaml?", name)
	}
	refs(t, whole, whole)
}

// exported lists what package subjects exports and calls a subject or a key.
func exported(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../../subjects/*.go")
	require.NoError(t, err)
	add := func(name string) {
		if ast.IsExported(name) && (strings.HasSuffix(name, "Subject") || strings.HasSuffix(name, "Key")) {
			all = append(all, name)
		}
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							add(n.Name)
						}
					}
				}
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// refs says whether everything that the document refers to is in it.
func refs(t *testing.T, whole, at any) {
	t.Helper()
	switch at := at.(type) {
	case map[string]any:
		for k, v := range at {
			if ref, ok := v.(string); ok && k == "$ref" {
				found := whole
				for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					m, ok := found.(map[string]any)
					require.True(t, ok && m[name] != nil, ref)
					found = m[name]
				}
				continue
			}
			refs(t, whole, v)
		}
	case []any:
		for _, v := range at {
			refs(t, whole, v)
		}
	}
}

func TestTheDocumentsStreamsAreTheCodes(t *testing.T) {
	t.Parallel()
	d, _ := read(t)
	configs := []jetstream.StreamConfig{subjects.RunsConfig(0, 1), subjects.BucketConfig(1), subjects.LeaseConfig(1),
		subjects.TurnsConfig(1), subjects.ControlConfig(1), subjects.HistoryConfig(1)}
	require.Len(t, d.Streams, len(configs))
	for _, c := range configs {
		s, ok := d.Streams[c.Name]
		require.True(t, ok, c.Name)
		require.Equal(t, c.Subjects, s.Subjects, c.Name)
		require.Equal(t, strings.ToLower(c.Retention.String()), s.Retention, c.Name)
		require.Equal(t, strings.TrimPrefix(strings.ToLower(c.Discard.String()), "discard"), s.Discard, c.Name)
		require.Equal(t, c.MaxMsgsPerSubject, s.MaxMsgs, c.Name)
		if c.MaxAge == 0 {
			require.Empty(t, s.MaxAge, c.Name)
		} else {
			require.Equal(t, c.MaxAge.String(), s.MaxAge, c.Name)
		}
		require.Equal(t, c.RePublish != nil, s.Republish != nil, c.Name)
		if c.RePublish != nil {
			require.Equal(t, c.RePublish.Source, s.Republish.From, c.Name)
			require.Equal(t, c.RePublish.Destination, s.Republish.To, c.Name)
		}
	}
	w, got := subjects.WorkersConfig(), d.Streams[subjects.TurnsStream].Consumer
	require.Equal(t, []any{w.Durable, w.AckWait.String(), w.MaxAckPending}, []any{got.Name, got.AckWait, got.MaxAckPending})
	for name, ch := range d.Channels {
		if ch.Stream == "" {
			continue
		}
		i := slices.IndexFunc(configs, func(c jetstream.StreamConfig) bool { return c.Name == ch.Stream })
		require.GreaterOrEqual(t, i, 0, name)
		sample := concrete(ch.pattern())
		if ch.Stream == subjects.RunsStream(0) {
			sample = subjects.RunSubject(subjects.NewRunID(0))
		}
		require.True(t, slices.ContainsFunc(configs[i].Subjects, func(p string) bool { return jetstreamMatch(p, sample) }), name)
	}
}

// Who sends and who hears, as the document has it, is who may in the server's file.
func TestTheDocumentsRolesAreTheFiles(t *testing.T) {
	t.Parallel()
	d, _ := read(t)
	all := rights(t)
	who := func(action, ch string) (tagged []string) {
		for name, op := range d.Ops {
			if op.Action != action || op.Channel.Ref != "#/channels/"+ch {
				continue
			}
			require.Nil(t, tagged, "a second operation: %s", name)
			for _, tag := range op.Tags {
				tagged = append(tagged, tag.Name)
			}
		}
		slices.Sort(tagged)
		return tagged
	}
	for name, ch := range d.Channels {
		sample := concrete(ch.pattern())
		if name == "controls" {
			sample = "rejoin.controls.x.ended" // the one place that anybody but the broker publishes
		}
		var send, hear []string
		for role, r := range all {
			if slices.ContainsFunc(r.Publish.Allow, covers(sample)) {
				send = append(send, role)
			}
			if slices.ContainsFunc(r.Subscribe.Allow, covers(sample)) {
				hear = append(hear, role)
			}
		}
		slices.Sort(send)
		slices.Sort(hear)
		require.Equal(t, who("send", name), send, "who sends to %s", name)
		if ch.Stream == "" {
			require.Equal(t, who("receive", name), hear, "who listens to %s", name)
			continue
		}
		require.Empty(t, hear, "who listens to %s, which is stored", name)
		if ch.Stream != subjects.BucketStream { // all of them read that
			require.Equal(t, who("receive", name), readers(all, ch.Stream), "who reads %s", name)
		}
	}
}

// readers are the roles that may read a stream.
func readers(all map[string]*server.Permissions, stream string) (who []string) {
	for role, r := range all {
		for _, api := range []string{"STREAM.MSG.GET." + stream, "DIRECT.GET." + stream, "CONSUMER.MSG.NEXT." + stream + "." + subjects.Workers} {
			if slices.ContainsFunc(r.Publish.Allow, covers("$JS.API."+api)) {
				who = append(who, role)
				break
			}
		}
	}
	slices.Sort(who)
	return who
}

// jetstreamMatch says whether a pattern matches a subject, as the broker sees it.
func jetstreamMatch(pattern, subject string) bool { return covers(subject)(pattern) }
