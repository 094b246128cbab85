package store_test

import (
	"strings"
	"testing"

	"ciclo/store"
	"ciclo/store/storetest"
)

// A page of a long audit is read from the index until it is full: nothing is
// sorted, and no more is read than the page needs.
func TestTheAuditIsReadByItsIndex(t *testing.T) {
	t.Parallel()
	_, pool, c := companyOf(t, 4)
	storetest.Exec(t, pool, `
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
		SELECT $1, $2, CASE i % 50 WHEN 0 THEN 'role.given' ELSE 'sign_in' END, 'person', $2
		FROM generate_series(1, 30000) i`, c.Tenant, c.People[1])
	other := storetest.NewCompany(t, pool, "Outra", 2) // a newer and longer one beside it
	storetest.Exec(t, pool, `
		INSERT INTO audit_entries (tenant_id, actor_id, act, object_type, object_id)
		SELECT $1, $2, 'sign_in', 'person', $2
		FROM generate_series(1, 60000) i`, other.Tenant, other.People[1])
	storetest.Exec(t, pool, `ANALYZE audit_entries, people`)
	for _, tt := range []struct {
		name  string
		q     store.AuditQuery
		index string
	}{
		{"the newest", store.AuditQuery{}, "audit_entries_newest_idx"},
		{"of one act", store.AuditQuery{Act: "role.given"}, "audit_entries_act_idx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Limit = 25
			plan := explain(t, pool, store.ListAuditSQL, store.AuditArgs(c.Tenant, tt.q))
			if !strings.Contains(plan, tt.index) {
				t.Errorf("the plan does without %s:\n%s", tt.index, plan)
			}
			if strings.Contains(plan, "Seq Scan on audit_entries") {
				t.Errorf("the whole audit is read:\n%s", plan)
			}
		})
	}
}

// What has been written stays as it was, whoever asks the database.
func TestTheAuditOnlyGrows(t *testing.T) {
	t.Parallel()
	s, pool, c := companyOf(t, 4)
	if _, err := s.InvitePerson(t.Context(), c.Admin, c.People[3]); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{`UPDATE audit_entries SET act = 'x'`, `DELETE FROM audit_entries`} {
		if _, err := pool.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s is let through", sql)
		}
	}
	list, total, err := s.Audit(t.Context(), c.Admin, store.AuditQuery{Page: store.Page{Limit: 10}})
	if err != nil || total != 1 || len(list) != 1 || list[0].Act != "person.invited" || list[0].Object != "Diego 4" || list[0].Actor != "Ana 1" {
		t.Errorf("the audit reads %+v (%d, %v)", list, total, err)
	}
	other := storetest.NewCompany(t, pool, "Outra", 2)
	if _, total, err = s.Audit(t.Context(), other.Admin, store.AuditQuery{Page: store.Page{Limit: 10}}); err != nil || total != 0 {
		t.Errorf("another organisation reads %d entries (%v)", total, err)
	}
}
