package subjects_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rejoin/rejoin/subjects"
)

// What is done for each record and each request of the fabric.

func record() subjects.Record {
	return subjects.Record{Kind: subjects.KindEvents, Last: 123456, Count: 64, Writer: "abcdefghijklmnopqrstuvwxyz", Body: bytes.Repeat([]byte("x"), 12_800)}
}

func BenchmarkRecordMsg(b *testing.B) {
	r, subject := record(), subjects.RunSubject(subjects.NewRunID(3))
	b.ReportAllocs()
	for b.Loop() {
		r.Msg(subject)
	}
}

func BenchmarkParseRecord(b *testing.B) {
	r := record()
	m := r.Msg(subjects.RunSubject(subjects.NewRunID(3)))
	_, err := subjects.ParseRecord(m.Header, m.Data)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = subjects.ParseRecord(m.Header, m.Data)
	}
}

func BenchmarkRunOfSubject(b *testing.B) {
	subject := subjects.RunSubject(subjects.NewRunID(3))
	_, err := subjects.RunOfSubject(subject)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = subjects.RunOfSubject(subject)
	}
}

func BenchmarkToken(b *testing.B) {
	for _, c := range []struct{ name, chat string }{
		{"plain", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"},
		{"encoded", "Zürich: Angebot für März / Team *"},
	} {
		b.Run(c.name, func(b *testing.B) {
			_, err := subjects.Token(c.chat)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = subjects.Token(c.chat)
			}
		})
	}
}
