package store_test

func child() {}
