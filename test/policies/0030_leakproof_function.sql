-- LEAKPROOF, because then an index is used in spite of the policies.
-- fault
reset role;
create function public.matches(text, text) returns boolean language plpgsql immutable leakproof
as 'begin raise notice ''%'', $1; return $1 like $2; end';
-- finding 0030_leakproof_function:public.matches(text, text)
--   The function public.matches(text, text) is LEAKPROOF: it sees rows of all tenants.
-- fix
reset role;
alter function public.matches(text, text) not leakproof;
