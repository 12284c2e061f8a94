-- A policy for everybody is added. The application is still held by the restrictive one; all other roles are let in.
-- doctor: 0007_extra_policy
create policy everybody on public.orders using (true);
