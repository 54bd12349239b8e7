package edge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/consumer"
)

// contract is a relay's /openapi.json, and what has been held against it.
type contract struct {
	testing.TB
	doc  *openapi3.T
	url  string
	seen map[string]bool // "POST /chat/live 200"
}

// theContract fetches a relay's document, which has to be a good one by itself.
func theContract(t *testing.T, url string) *contract {
	t.Helper()
	resp := ask(t, browser(t), http.MethodGet, url+"/openapi.json", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData([]byte(all(t, resp)))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(doc.OpenAPI, "3.1"))
	require.NoError(t, doc.Validate(t.Context()))
	return &contract{TB: t, doc: doc, url: url, seen: map[string]bool{}}
}

// call is one request and the status that it is to be answered with.
type call struct {
	status       int
	method, path string // path is the document's
	at           string // what stands for its parameters, and the query
	body         string
	header       []string
	code, until  string // the problem's code; the event of the last message that is read of a stream
}

// holds makes a call, and holds it and its answer against the document.
func (c *contract) holds(t *testing.T, client *http.Client, k call) string {
	t.Helper()
	what := fmt.Sprintf("%s %s%s %.80s: %d", k.method, k.path, k.at, k.body, k.status)
	target := k.path
	if k.at != "" {
		target = k.at
	}
	resp := ask(t, client, k.method, c.url+target, k.body, k.header...)
	defer resp.Body.Close()
	item := c.doc.Paths.Value(k.path)
	require.NotNil(t, item, what)
	operation := item.GetOperation(k.method)
	require.NotNil(t, operation, what)
	c.seen[fmt.Sprintf("%s %s %d", k.method, k.path, resp.StatusCode)] = true

	req := resp.Request.Clone(t.Context())
	req.Body = io.NopCloser(strings.NewReader(k.body))
	if k.body != "" && operation.RequestBody != nil && req.Header.Get("Content-Type") == "" {
		for kind := range operation.RequestBody.Value.Content {
			req.Header.Set("Content-Type", kind)
		}
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: parameters(k.path, req.URL.Path),
		Route: &routers.Route{Spec: c.doc, Path: k.path, PathItem: item, Method: k.method, Operation: operation},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true}}
	if k.status < 400 {
		require.NoError(t, openapi3filter.ValidateRequest(t.Context(), in), what)
	}
	kind := resp.Header.Get("Content-Type")
	stream := kind == "text/event-stream"
	body := ""
	if !stream {
		body = all(t, resp)
	}
	require.Equal(t, k.status, resp.StatusCode, "%s: %s", what, body)
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(strings.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: stream}}), what)
	answer := operation.Responses.Status(resp.StatusCode).Value
	switch {
	case stream:
		require.Contains(t, answer.Content, kind, what)
		c.messages(t, answer.Content[kind], resp.Body, k.until, what)
	case answer.Content == nil:
		require.Empty(t, body, what)
	}
	if k.code != "" {
		require.Contains(t, body, `"code":"`+k.code+`"`, what)
	}
	return body
}

// parameters are those of a path.
func parameters(pattern, path string) map[string]string {
	values := map[string]string{}
	parts := strings.Split(path, "/")
	for i, name := range strings.Split(pattern, "/") {
		if strings.HasPrefix(name, "{") {
			values[strings.Trim(name, "{}")] = parts[i]
		}
	}
	return values
}

// messages reads a stream to its end, or up to the event, and holds each of its messages
// against those that the document has for it.
func (c *contract) messages(t *testing.T, media *openapi3.MediaType, body io.Reader, until, what string) {
	t.Helper()
	raw, err := json.Marshal(media.Extensions["x-messages"])
	require.NoError(t, err)
	var kinds []struct {
		Event string
		Data  struct {
			Ref string `json:"$ref"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &kinds))
	require.NotEmpty(t, kinds, what)
	for in := consumer.NewDecoder(body); ; {
		m, err := in.Next()
		if errors.Is(err, io.EOF) && until == "" {
			return
		}
		require.NoError(t, err, what)
		event := m.Event
		if event == "message" {
			event = ""
		}
		if _, err := strconv.Atoi(event); err == nil {
			event = "<place>" // of a chat on a shared stream
		}
		if string(m.Data) == "[DONE]" { // of a UI message stream
			continue
		}
		var data any
		decode := json.NewDecoder(bytes.NewReader(m.Data))
		require.NoError(t, decode.Decode(&data), what)
		fits := fmt.Errorf("no message of that event")
		for _, kind := range kinds {
			if kind.Event != event || fits == nil {
				continue
			}
			schema := c.doc.Components.Schemas[strings.TrimPrefix(kind.Data.Ref, "#/components/schemas/")].Value
			fits = c.doc.ValidateSchemaJSON(schema, data, openapi3.EnableJSONSchema2020())
		}
		require.NoError(t, fits, "%s: %s %s", what, m.Event, m.Data)
		if until != "" && event == until {
			return
		}
	}
}
