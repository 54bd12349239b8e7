package config

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is one kind of flag value, bound to where it is kept.
type Value interface {
	flag.Value
	Allowed() string // what Set accepts, to follow "allowed is"
	Kind() string    // one word for the help page; "" for a switch
}

// badValue is the error of every Set of this package.
type badValue struct{ value string }

func (e *badValue) Error() string { return "bad value " + strconv.Quote(e.value) }

// text is a string that check, where there is one, accepts.
type text struct {
	p             *string
	kind, allowed string
	check         func(string) bool
}

// Text is any string. kind is one word for the help page; allowed says in words
// what check accepts. A nil check accepts everything.
func Text(p *string, kind, allowed string, check func(string) bool) Value {
	return &text{p, kind, allowed, check}
}

func (v *text) Set(s string) error {
	if v.check != nil && !v.check(s) {
		return &badValue{s}
	}
	*v.p = s
	return nil
}
func (v *text) String() string  { return *v.p }
func (v *text) Allowed() string { return v.allowed }
func (v *text) Kind() string    { return v.kind }

// OneOf is one of a few words.
func OneOf(p *string, words ...string) Value {
	return Text(p, strings.Join(words, "|"), "one of "+strings.Join(words, ", "),
		func(s string) bool { return slices.Contains(words, s) })
}

// list is text that may be given more than once.
type list struct {
	text
	all *[]string
}

// List is text that may be given more than once; in the environment, one a line. The
// rest is as of Text.
func List(p *[]string, kind, allowed string, check func(string) bool) Value {
	return &list{text{nil, kind, allowed, check}, p}
}

func (v *list) Set(s string) error {
	for line := range strings.SplitSeq(s, "\n") {
		if v.check != nil && !v.check(line) {
			return &badValue{line}
		}
		*v.all = append(*v.all, line)
	}
	return nil
}

func (v *list) String() string {
	if v == nil || v.all == nil {
		return ""
	}
	return strings.Join(*v.all, ", ")
}

type duration struct {
	p         *time.Duration
	from, max time.Duration
	unit      time.Duration // what it is a multiple of
	such      string        // examples and more, to follow the bounds
}

// Duration is a time from min to max, written like 500ms, 15s or 1h30m.
func Duration(p *time.Duration, from, most time.Duration) Value {
	return &duration{p, from, most, 1, "such as 1500ms, 15s or 1h30m"}
}

// Seconds is a Duration of whole seconds.
func Seconds(p *time.Duration, from, most time.Duration) Value {
	return &duration{p, from, most, time.Second, "in whole seconds, such as 15s or 1m30s"}
}

func (v *duration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < v.from || d > v.max || d%v.unit != 0 {
		return &badValue{s}
	}
	*v.p = d
	return nil
}
func (v *duration) String() string { return short(*v.p) }
func (v *duration) Allowed() string {
	return fmt.Sprintf("a time from %s to %s, %s", short(v.from), short(v.max), v.such)
}
func (v *duration) Kind() string { return "TIME" }

// short is d without the zeros that its String ends with: 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

type number[T ~int | ~uint64] struct {
	p         *T
	from, max T
}

// Number is a whole number from min to max.
func Number[T ~int | ~uint64](p *T, from, most T) Value { return &number[T]{p, from, most} }

func (v *number[T]) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > math.MaxInt64 || T(n) < v.from || T(n) > v.max {
		return &badValue{s}
	}
	*v.p = T(n)
	return nil
}
func (v *number[T]) String() string { return strconv.FormatUint(uint64(*v.p), 10) }
func (v *number[T]) Allowed() string {
	return fmt.Sprintf("a whole number from %d to %d", v.from, v.max)
}
func (v *number[T]) Kind() string { return "N" }

type size struct {
	p         *int
	from, max int
}

// Size is a number of bytes from min to max: plain, or with KiB or MiB.
func Size(p *int, from, most int) Value { return &size{p, from, most} }

// units are in the order in which String tries them.
var units = []struct {
	name  string
	bytes int
}{{"MiB", 1 << 20}, {"KiB", 1 << 10}}

func (v *size) Set(s string) error {
	digits, unit := s, 1
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || int(n) > v.max/unit || int(n)*unit < v.from {
		return &badValue{s}
	}
	*v.p = int(n) * unit
	return nil
}
func (v *size) String() string { return bytes(*v.p) }
func (v *size) Allowed() string {
	return fmt.Sprintf("a size from %s to %s, in bytes or with KiB or MiB", bytes(v.from), bytes(v.max))
}
func (v *size) Kind() string { return "SIZE" }

func bytes(n int) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.Itoa(n/u.bytes) + u.name
		}
	}
	return strconv.Itoa(n)
}

type boolean struct{ p *bool }

// Switch is on or off: --name means on, --name=false off.
func Switch(p *bool) Value { return boolean{p} }

func (v boolean) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return &badValue{s}
	}
	*v.p = b
	return nil
}
func (v boolean) String() string   { return strconv.FormatBool(*v.p) }
func (v boolean) Allowed() string  { return "true or false" }
func (v boolean) Kind() string     { return "" }
func (v boolean) IsBoolFlag() bool { return true }
