package runs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// adapt brings a stream's settings up to what is wanted, and lists what it changed. What
// operators may set as they like stays theirs: where a stream lies, how large it may
// become, how it is compressed, and that it keeps more than is needed. The error is
// ErrRefused where the broker would have to make the stream anew, or throw away what is
// in it. Replicas 0 in want leave them as they are.
func adapt(have, want jetstream.StreamConfig) (jetstream.StreamConfig, []string, error) {
	a := adapting{stream: want.Name}
	a.fixed("storage", have.Storage.String(), want.Storage.String())
	a.fixed("retention", have.Retention.String(), want.Retention.String())
	if have.Mirror != nil {
		a.refuse("it is a mirror")
	}
	if have.Sealed {
		a.refuse("it is sealed")
	}
	if want.MaxMsgsPerSubject == 1 && have.MaxMsgsPerSubject != 1 {
		a.refuse(fmt.Sprintf("it keeps %d messages of a subject, and 1 is needed: the others would be lost", have.MaxMsgsPerSubject))
	}
	got := have
	set(&a, "description", &got.Description, want.Description, quoted)
	if !slices.Equal(have.Subjects, want.Subjects) {
		a.changed("subjects", strings.Join(have.Subjects, " "), strings.Join(want.Subjects, " "))
		got.Subjects = want.Subjects
	}
	if want.Replicas > 0 {
		set(&a, "replicas", &got.Replicas, want.Replicas, number)
	}
	set(&a, "discard", &got.Discard, want.Discard, jetstream.DiscardPolicy.String)
	set(&a, "discard_new_per_subject", &got.DiscardNewPerSubject, want.DiscardNewPerSubject, strconv.FormatBool)
	raise(&a, "max_msgs_per_subject", &got.MaxMsgsPerSubject, want.MaxMsgsPerSubject, number)
	raise(&a, "max_age", &got.MaxAge, want.MaxAge, time.Duration.String)
	raise(&a, "max_consumers", &got.MaxConsumers, want.MaxConsumers, number)
	set(&a, "allow_direct", &got.AllowDirect, want.AllowDirect, strconv.FormatBool)
	raiseFlag(&a, "allow_rollup_hdrs", &got.AllowRollup, want.AllowRollup)
	raiseFlag(&a, "allow_msg_ttl", &got.AllowMsgTTL, want.AllowMsgTTL)
	set(&a, "subject_delete_marker_ttl", &got.SubjectDeleteMarkerTTL, want.SubjectDeleteMarkerTTL, time.Duration.String)
	if r := republished(want.RePublish); republished(have.RePublish) != r {
		a.changed("republish", republished(have.RePublish), r)
		got.RePublish = want.RePublish
	}
	if len(a.refused) > 0 {
		return have, nil, fmt.Errorf("%w: stream %s: %s", ErrRefused, want.Name, strings.Join(a.refused, "; "))
	}
	return got, a.changes, nil
}

type adapting struct {
	stream           string
	changes, refused []string
}

func (a *adapting) refuse(why string) { a.refused = append(a.refused, why) }

func (a *adapting) changed(name, from, to string) {
	a.changes = append(a.changes, name+" "+from+" to "+to)
}

func (a *adapting) fixed(name, have, want string) {
	if have != want {
		a.refuse(fmt.Sprintf("its %s is %s and has to be %s, which a stream keeps for life; what is in it would be lost",
			name, strings.ToLower(have), strings.ToLower(want)))
	}
}

func set[T comparable](a *adapting, name string, have *T, want T, text func(T) string) {
	if *have != want {
		a.changed(name, text(*have), text(want))
		*have = want
	}
}

// raise is set for a limit that may also be higher, or none at all: lowering it would
// throw away what is kept beyond it. Where none is wanted, operators may have theirs.
func raise[T ~int | ~int64](a *adapting, name string, have *T, want T, text func(T) string) {
	if *have > 0 && *have < want {
		set(a, name, have, want, text)
	}
}

// raiseFlag is set for what is never taken away from a stream again.
func raiseFlag(a *adapting, name string, have *bool, want bool) {
	if want {
		set(a, name, have, true, strconv.FormatBool)
	}
}

func republished(r *jetstream.RePublish) string {
	if r == nil {
		return "nothing"
	}
	text := r.Source + " as " + r.Destination
	if r.HeadersOnly {
		text += ", headers only"
	}
	return text
}

func quoted(s string) string { return strconv.Quote(s) }

func number[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
