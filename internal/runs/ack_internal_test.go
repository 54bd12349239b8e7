package runs

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		seq   uint64
		plain bool
		err   error
	}{
		`{"stream":"RUNS_0", "seq":17}`:                   {17, true, nil},
		`{"stream":"RUNS_0","seq":18446744073709551615}`:  {1<<64 - 1, true, nil},
		`{"stream":"RUNS_0", "seq":17,"duplicate": true}`: {17, true, nil},
		`{"stream":"RUNS_0", "domain":"d", "seq":17}`:     {17, false, nil},
		`{"seq":17,"stream":"RUNS_0"}`:                    {17, false, nil},
		`{"stream":"a\"b", "seq":17}`:                     {17, false, nil},
		`{"stream":"RUNS_0", "seq":18446744073709551616}`: {0, false, jetstream.ErrInvalidJSAck},
		`{"stream":"", "seq":17}`:                         {0, false, jetstream.ErrInvalidJSAck},
		`{"stream":"RUNS_0", "seq":`:                      {0, false, jetstream.ErrInvalidJSAck},
		``:                                                {0, false, jetstream.ErrInvalidJSAck},
		`{"error":{"code":400,"err_code":10071,"description":"wrong last"}}`: {0, false, &jetstream.APIError{ErrorCode: 10071}},
	} {
		_, plain := plainAck([]byte(text))
		require.Equal(t, want.plain, plain, text)
		seq, err := ackOf(&nats.Msg{Data: []byte(text)})
		require.Equal(t, want.seq, seq, text)
		require.ErrorIs(t, err, want.err, text)
	}
	_, err := ackOf(&nats.Msg{Header: nats.Header{"Status": {"503"}}})
	require.ErrorIs(t, err, jetstream.ErrNoStreamResponse)
}
