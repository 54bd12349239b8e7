package problem_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/problem"
)

type common struct {
	ChatID string `json:"chat_id"`
}

type request struct {
	common
	Wait    problem.Int     `json:"wait_ms"`
	Synced  bool            `json:"synced"`
	Tags    []string        `json:"tags"`
	Outcome struct{ X int } `json:"outcome"`
	Input   json.RawMessage `json:"input"`
	Untag   string
	hidden  string
}

const limit = 512

func decode(t *testing.T, in string) (request, error) {
	t.Helper()
	var v request
	err := problem.DecodeBody(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(in)), limit, &v)
	return v, err
}

func refused(t *testing.T, in, code string) string {
	t.Helper()
	_, err := decode(t, in)
	var p *problem.Error
	require.ErrorAs(t, err, &p, in)
	require.Equal(t, code, p.Code, in)
	return p.Detail
}

func TestDecodeBodyFillsTaggedFields(t *testing.T) {
	t.Parallel()
	v, err := decode(t, ` {"chat_id":"c\u00e9\ud83d\ude00","wait_ms":5,"synced":true,"tags":["a"],"input": {"b":1} ,"new":{}} `+"\n")
	require.NoError(t, err)
	require.Equal(t, "cé😀", v.ChatID)
	require.Equal(t, problem.Int{N: 5, Set: true}, v.Wait)
	require.True(t, v.Synced)
	require.Equal(t, []string{"a"}, v.Tags)
	require.Equal(t, `{"b":1}`, string(v.Input), "byte for byte")
}

func TestNullIsAbsentAndNamesMatchExactly(t *testing.T) {
	t.Parallel()
	v, err := decode(t, `{"chat_id":null,"wait_ms":null,"input":null,"CHAT_ID":"c","Untag":"u","hidden":"h"}`)
	require.NoError(t, err)
	require.Equal(t, request{}, v)
	require.Empty(t, v.hidden)
}

func TestBodiesThatAreNoObjectAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                           "empty",
		" \n":                        "empty",
		"x":                          "at byte 1",
		`{"a":1,}`:                   "at byte 8",
		`{"a":1`:                     "at byte 6",
		`{"a":1} {}`:                 "at byte 9",
		`{"a":1}x`:                   "at byte 8",
		`[]`:                         "object is needed",
		`null`:                       "object is needed",
		`"s"`:                        "object is needed",
		"{\"chat_id\":\"a\xffb\"}":   "UTF-8 at byte 13",
		"\ufeff{}":                   "at byte 1",
		"{\"chat_id\":\"a\x00\"}":    "at byte 14",
		"{\"a\":\"\xed\xa0\x80\"}":   "UTF-8 at byte 6", // half a pair, encoded outright
		strings.Repeat("[", limit-1): "at byte",
	} {
		require.Contains(t, refused(t, in, problem.BadRequest), says, "%q", in)
	}
}

func TestEscapesThatAreNoCharacterAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`\ud800`, `\uD800x`, `\udc00`, `a\uDFFF`, `\ud800\ud800`, `\ud83d\u0041`, `\ude00\ud83d`, `\udbff\n`, `\\\ud800`,
	} {
		require.Contains(t, refused(t, `{"chat_id":"`+s+`"}`, problem.BadRequest), "chat_id has an escape", s)
	}
	for _, s := range []string{`\ud83d\ude00`, `\\ud800`, `\uD7FF`, `\ue000`, `\"\ud83d\ude00\"`} {
		_, err := decode(t, `{"chat_id":"`+s+`"}`)
		require.NoError(t, err, s)
	}
	require.Contains(t, refused(t, `{"tags":["\ud800"]}`, problem.BadRequest), "tags")
	_, err := decode(t, `{"input":"\ud800"}`)
	require.NoError(t, err, "kept byte for byte, so nothing is replaced")
}

func TestWrongTypesNameTheFieldAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"chat_id":5}`:           "chat_id must be a string, not a number",
		`{"synced":"true"}`:       "synced must be true or false, not a string",
		`{"tags":{}}`:             "tags must be an array, not an object",
		`{"tags":[1]}`:            "tags must be a string, not a number",
		`{"outcome":[]}`:          "outcome must be an object, not an array",
		`{"outcome":{"X":"a"}}`:   "outcome.X must be a number in range, not a string",
		`{"outcome":{"X":1e999}}`: "outcome.X must be a number in range, not a number",
	} {
		require.Equal(t, want, refused(t, in, problem.BadRequest), in)
	}
}

func TestIntegersArePlainDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{
		"0": 0, "-0": 0, "42": 42, "-1": -1, "9223372036854775807": 9223372036854775807,
	} {
		v, err := decode(t, `{"wait_ms":`+in+`}`)
		require.NoError(t, err, in)
		require.Equal(t, problem.Int{N: want, Set: true}, v.Wait, in)
	}
	for _, in := range []string{"1.0", "1e3", "1E3", `"1"`, "true", "[]", "{}", "-1.5"} {
		require.Contains(t, refused(t, `{"wait_ms":`+in+`}`, problem.BadRequest), "wait_ms must be an integer in plain digits", in)
	}
	for _, in := range []string{"9223372036854775808", "99999999999999999999999999"} {
		require.Contains(t, refused(t, `{"wait_ms":`+in+`}`, problem.BadRequest), "wait_ms is out of range", in)
	}
}

func TestIntCheckNamesTheFieldAndTheRange(t *testing.T) {
	t.Parallel()
	require.NoError(t, problem.Int{}.Check("n", 5, 6))
	for _, n := range []int64{5, 6} {
		require.NoError(t, problem.Int{N: n, Set: true}.Check("n", 5, 6))
	}
	for _, n := range []int64{4, 7} {
		require.ErrorContains(t, problem.Int{N: n, Set: true}.Check("n", 5, 6), "allowed are integers from 5 to 6")
	}
	require.EqualValues(t, 3, problem.Int{}.Or(3))
	require.EqualValues(t, 0, problem.Int{Set: true}.Or(3))
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	at := func(n int) string { return `{"chat_id":"` + strings.Repeat("a", n-len(`{"chat_id":""}`)) + `"}` }
	_, err := decode(t, at(limit))
	require.NoError(t, err)
	require.Contains(t, refused(t, at(limit+1), problem.TooLarge), "512 bytes")
}

func TestABodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	t.Parallel()
	broken := io.MultiReader(strings.NewReader(`{"chat_id":`), errReader{})
	err := problem.DecodeBody(httptest.NewRequest(http.MethodPost, "/", broken), limit, &request{})
	var p *problem.Error
	require.ErrorAs(t, err, &p)
	require.Equal(t, problem.BadRequest, p.Code)
	require.ErrorIs(t, err, errBroken)
}

func TestDecodingIntoAnythingElseIsOurFault(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, request{}, new(int), (*request)(nil)} {
		err := problem.Decode([]byte(`{}`), v)
		require.Error(t, err)
		require.Equal(t, problem.Internal, problem.For(err).Code)
	}
}

var errBroken = errors.New("connection reset")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }
