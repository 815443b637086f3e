package main

import (
	"encoding/hex"

	"beckon/hub"
)

// tokenCmd makes a bearer token. Nothing keeps it: the config takes the hash.
type tokenCmd struct {
	JSON bool `help:"Print JSON."`
}

func (c *tokenCmd) Run(sh *shell) error {
	token := hub.NewToken()
	sum := hub.HashToken(token)
	if c.JSON {
		return sh.printJSON(struct {
			Token  string `json:"token"`
			SHA256 string `json:"token_sha256"`
		}{token, hex.EncodeToString(sum[:])})
	}
	if err := sh.print("token: " + token); err != nil {
		return err
	}
	if err := sh.print("token_sha256: " + hex.EncodeToString(sum[:])); err != nil {
		return err
	}
	sh.say("Give the token to the agent (BECKON_TOKEN) and write token_sha256 into the config. It is not shown again.")
	return nil
}
