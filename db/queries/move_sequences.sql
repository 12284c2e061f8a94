-- Sequences that exist in both places, as quoted names. Of two that draw numbers for the same column the later one counts.
--   $1 text: the dedicated schema
select pg_catalog.format('public.%I', s.relname) as shared, pg_catalog.format('%I.%I', $1::text, s.relname) as dedicated
from pg_catalog.pg_class s
join pg_catalog.pg_class d on d.relname = s.relname and d.relkind = 'S'
where s.relkind = 'S'
  and s.relnamespace = 'public'::pg_catalog.regnamespace
  and d.relnamespace = pg_catalog.to_regnamespace($1::text)
order by s.relname;
