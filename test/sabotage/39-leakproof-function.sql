-- A function sees rows before the policies do, and can say what it saw.
-- doctor: 0030_leakproof_function
reset role;
create function public.peek(uuid) returns boolean language plpgsql immutable leakproof cost 0.0001
as $$ begin raise notice '%', $1; return true; end $$;
alter function public.peek(uuid) owner to rowhouse_owner;
