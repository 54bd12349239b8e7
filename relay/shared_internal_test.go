package relay

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault in one chat's goroutine is a fault of the request, which is caught as any other's, and
// not the end of the process.
func TestAPanicInAChatIsTheRequests(t *testing.T) {
	t.Parallel()
	sh := &shared{observer: &observer{leave: make(chan cause)}, chats: []*sharedChat{{}, {}}}
	defer func() {
		p, ok := recover().(*panicked)
		require.True(t, ok)
		require.Contains(t, p.Error(), "nil pointer")
		require.Contains(t, string(p.stack), "shared_chat.go", "where it was")
	}()
	_ = sh.serve(t.Context())
	t.Fatal("it has not panicked")
}
