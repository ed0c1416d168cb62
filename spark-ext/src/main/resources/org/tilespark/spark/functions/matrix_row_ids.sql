SELECT * FROM matrix_row_ids(TABLE(
  SELECT * FROM matrix_from_rows(
    TABLE(SELECT * FROM VALUES ('a', array(1F, 2F)), ('b', array(3F, 4F)) AS t(name, features)),
    'features', id => 'name')));
-- 0	a
-- 1	b
