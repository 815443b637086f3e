package slack

type queue struct{}

func newQueue() *queue { return &queue{} }
