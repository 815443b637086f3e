package slack

import "beckon/hub"

type places struct{}

func newPlaces(*api, hub.StateStore) *places { return &places{} }
