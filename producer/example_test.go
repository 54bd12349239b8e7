package producer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/rejoin/rejoin/producer"
)

// A native producer: everything it publishes can be watched at any relay of the same
// broker, while it runs and for some minutes afterwards.
func Example() {
	ctx := context.Background()
	nc, err := nats.Connect("nats://127.0.0.1:4222", nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	p, err := producer.Connect(ctx, nc, producer.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close(ctx)

	run, err := p.Start(ctx, producer.StartOptions{ChatID: "c1"})
	if err != nil {
		log.Fatal(err)
	}
	defer run.Close() // ends it as abandoned if Finish is never reached
	for _, word := range []string{"Hello", ", ", "world"} {
		event := fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":%q}`, word)
		if _, err := run.Publish(ctx, event); err != nil {
			log.Fatal(err) // not an event, or the run was taken by a newer one
		}
	}
	end, err := run.Finish(ctx, producer.FinishOptions{
		Save: func(context.Context) error { return nil }, // your own database
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(end.Reason, end.Persisted)
}
