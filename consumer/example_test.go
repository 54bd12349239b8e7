package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/rejoin/rejoin/consumer"
)

// An observer that comes back by itself until the run has its end.
func ExampleClient_Watch() {
	ctx := context.Background()
	client := &consumer.Client{BaseURL: "http://127.0.0.1:8080"}
	stream := client.Watch(ctx, consumer.Watch{ChatID: "c1", Wait: 30 * time.Second})
	defer stream.Close()
	var view consumer.View
	for {
		frame, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			break // the run has ended and was saved
		}
		if err != nil {
			log.Fatal(err) // see the package's errors for what each one means
		}
		if err := view.Apply(frame); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("run %s has %d events\n", view.RunID(), view.Seq())
}
