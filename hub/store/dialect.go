package store

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dialect is what differs between databases; all other SQL is written once,
// and uses nothing that only one of them has.
type dialect struct {
	name   string           // folder of its migrations
	begin  string           // starts a transaction that will write
	claim  string           // suffix of the SELECT that picks what to claim
	bigint string           // type of a 64-bit integer
	alone  string           // what a process does first that has the database to itself; "" where several share one
	isBusy func(error) bool // somebody else holds the lock: nothing is broken
}

func sqliteDialect() dialect {
	return dialect{
		name:   "sqlite",
		begin:  "BEGIN IMMEDIATE",
		bigint: "INTEGER",
		alone:  "DELETE FROM lease", // whoever had them is dead
		isBusy: func(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY },
	}
}

// sqliteCode is the extended result code of err, 0 if it is not SQLite's.
func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}
