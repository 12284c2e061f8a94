-- After the rows are there, which is much faster.
create index documents_tenant_id_created_at_idx on public.documents (tenant_id, created_at);
create index documents_tenant_id_title_idx on public.documents (tenant_id, title text_pattern_ops);
create index documents_attributes_idx on public.documents using gin (attributes jsonb_path_ops);
create index documents_search_idx on public.documents using gin (search);
create index documents_tags_idx on public.documents using gin (tags);
