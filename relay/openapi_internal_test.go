package relay

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/internal/active"
	"github.com/rejoin/rejoin/internal/auth"
	"github.com/rejoin/rejoin/internal/history"
	"github.com/rejoin/rejoin/internal/killswitch"
	"github.com/rejoin/rejoin/internal/problem"
	"github.com/rejoin/rejoin/internal/turns"
)

// described is what the document says of one route.
type described struct {
	Access   access                `json:"x-access"`
	Security []map[string][]string `json:"security"`
}

// The document names the routes that there are, and no others, and says of each who may
// use it and with what.
func TestOpenAPINamesEveryRoute(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths map[string]map[string]described
	}
	require.NoError(t, json.Unmarshal(openAPI, &doc))
	s := &Server{metrics: NewMetrics(nil), cfg: Config{Turns: &turns.Queue{}, Active: &active.Feed{}, Switch: &killswitch.Watcher{},
		History: &history.History{}, Resume: &auth.Resume{}, Producer: http.NotFoundHandler()}}
	for _, route := range s.table() {
		what := route.method + " " + route.pattern
		d, ok := doc.Paths[route.pattern][strings.ToLower(route.method)]
		require.True(t, ok, "%s is not described", what)
		require.Equal(t, route.access, d.Access, what)
		switch {
		case route.access == public:
			require.Empty(t, d.Security, what)
		case route.access == watcher && route.method == http.MethodGet:
			require.Equal(t, []map[string][]string{{"bearer": {}}, {"resume_token": {}}}, d.Security, what)
		default:
			require.Equal(t, []map[string][]string{{"bearer": {}}}, d.Security, what)
		}
		delete(doc.Paths[route.pattern], strings.ToLower(route.method))
	}
	for path, left := range doc.Paths {
		require.Empty(t, left, "%s is described and does not exist", path)
	}
}

// Every code of a problem is in the document, and no other.
func TestOpenAPINamesEveryCode(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []any }
			}
		}
	}
	require.NoError(t, json.Unmarshal(openAPI, &doc))
	var named []string
	for _, code := range doc.Components.Schemas["Problem"].Properties["code"].Enum {
		named = append(named, code.(string))
	}
	require.ElementsMatch(t, problem.Codes(), named)
}
