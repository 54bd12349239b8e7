package auth_test

import "testing"

func BenchmarkAuthenticate(b *testing.B) {
	for _, p := range []pair{newEd("ed"), newEC("ec"), newRSA("rs"), newHS("hs")} {
		j := open(b, publicSet(newEd("other"), p), nil)
		token := p.good(b)
		b.Run(p.method.Alg(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := j.Authenticate(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
