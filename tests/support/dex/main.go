// Dex, an OpenID provider, with accounts in memory: main CONFIG, where CONFIG is a file with JSON.
package main

import (
	"context"
	"encoding/json"
	"log"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/server/connectors"
	"github.com/dexidp/dex/server/signer"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
	dexweb "github.com/dexidp/dex/web"
	"golang.org/x/crypto/bcrypt"
)

type account struct {
	storage.Password
	Plain string `json:"plain"`
}

type config struct {
	Issuer   string           `json:"issuer"`
	Listen   string           `json:"listen"`
	Clients  []storage.Client `json:"clients"`
	Accounts []account        `json:"accounts"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	check(err)
	var c config
	check(json.Unmarshal(text, &c))
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	passwords := make([]storage.Password, len(c.Accounts))
	for i, each := range c.Accounts {
		passwords[i] = each.Password
		passwords[i].Hash, err = bcrypt.GenerateFromPassword([]byte(each.Plain), bcrypt.MinCost+6)
		check(err)
	}
	s := storage.WithStaticClients(memory.New(logger), c.Clients)
	s = storage.WithStaticPasswords(s, passwords, logger)
	s = storage.WithStaticConnectors(s, []storage.Connector{
		{ID: connectors.LocalConnector, Name: "Password", Type: connectors.LocalConnector},
	})
	ctx := context.Background()
	local := signer.LocalConfig{KeysRotationPeriod: "6h"}
	signs, err := local.Open(ctx, s, time.Hour, time.Now, logger)
	check(err)
	handler, err := server.NewServer(ctx, server.Config{
		Issuer:             c.Issuer,
		Storage:            s,
		SkipApprovalScreen: true,
		IDTokensValidFor:   time.Hour,
		Signer:             signs,
		Logger:             logger,
		Web:                server.WebConfig{WebFS: dexweb.FS()},
	})
	check(err)
	check(http.ListenAndServe(c.Listen, handler))
}
