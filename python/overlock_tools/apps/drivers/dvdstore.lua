-- SPDX-License-Identifier: MIT
-- The database tier of a DVD store, for sysbench: customers log in, search by title, actor or category,
-- and now and then buy. The mix and the tables are of the kind of the Dell DVD Store; every purchase
-- leaves sums behind that have to agree.

sysbench.cmdline.options = {
   customers = {"Customers that are registered", 20000},
   products = {"Products in the store", 10000},
   buy_percent = {"Purchases among the operations", 10},
   login_percent = {"Logins among the operations", 30},
}

local CATEGORIES = 16
local ACTORS = 500
local WORDS = {"ACADEMY", "AGENT", "ALASKA", "BANGER", "BIRD", "CABIN", "DESERT", "EAGLE", "FROST",
   "GHOST", "HARBOR", "ISLAND", "JUNGLE", "KNIGHT", "LADY", "MOON", "NIGHT", "OCEAN", "PILOT", "RIVER"}
local ROWS = 500 -- inserted at once

local function title(id)
   return string.format("%s %s %d", WORDS[id % #WORDS + 1], WORDS[math.floor(id / #WORDS) % #WORDS + 1], id)
end

local SCHEMA = {
   [[CREATE TABLE customers (id INT PRIMARY KEY, username VARCHAR(50) NOT NULL, password VARCHAR(50) NOT
      NULL, orders INT NOT NULL DEFAULT 0, logins INT NOT NULL DEFAULT 0, UNIQUE (username))]],
   [[CREATE TABLE products (id INT PRIMARY KEY, category INT NOT NULL, title VARCHAR(80) NOT NULL, actor
      VARCHAR(50) NOT NULL, price INT NOT NULL, INDEX (category), INDEX (actor), INDEX (title))]],
   [[CREATE TABLE inventory (id INT PRIMARY KEY, stock INT NOT NULL, sold INT NOT NULL DEFAULT 0)]],
   [[CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, customer INT NOT NULL, total BIGINT NOT
      NULL, INDEX (customer))]],
   [[CREATE TABLE orderlines (orderid BIGINT NOT NULL, line INT NOT NULL, product INT NOT NULL, quantity
      INT NOT NULL, price INT NOT NULL, PRIMARY KEY (orderid, line))]],
}

local function fill(connection, into, count, row)
   for first = 1, count, ROWS do
      local rows = {}
      for id = first, math.min(first + ROWS - 1, count) do
         rows[#rows + 1] = row(id)
      end
      connection:query("INSERT INTO " .. into .. " VALUES " .. table.concat(rows, ","))
   end
end

function prepare()
   local connection = sysbench.sql.driver():connect()
   for _, statement in ipairs(SCHEMA) do
      connection:query(statement)
   end
   fill(connection, "customers (id, username, password)", sysbench.opt.customers, function(id)
      return string.format("(%d, 'user%d', 'password%d')", id, id, id)
   end)
   fill(connection, "products", sysbench.opt.products, function(id)
      return string.format("(%d, %d, '%s', 'ACTOR %d', %d)", id, id % CATEGORIES, title(id), id % ACTORS,
         500 + id % 2500)
   end)
   fill(connection, "inventory (id, stock)", sysbench.opt.products, function(id)
      return string.format("(%d, 1000000)", id)
   end)
end

function thread_init()
   driver = sysbench.sql.driver()
   connection = driver:connect()
   purchases = 0
end

local function customer()
   return sysbench.rand.uniform(1, sysbench.opt.customers)
end

local function login()
   local id = customer()
   local found = connection:query_row(string.format(
      "SELECT id FROM customers WHERE username = 'user%d' AND password = 'password%d'", id, id))
   if tonumber(found) ~= id then
      error("login: user" .. id .. " is " .. tostring(found))
   end
   connection:query("SELECT o.id, l.product FROM orders o JOIN orderlines l ON l.orderid = o.id WHERE " ..
      "o.customer = " .. id .. " ORDER BY o.id DESC, l.line LIMIT 10")
end

local function search()
   local kind = sysbench.rand.uniform(1, 3)
   local id = sysbench.rand.uniform(1, sysbench.opt.products)
   local where
   if kind == 1 then
      where = "category = " .. id % CATEGORIES
   elseif kind == 2 then
      where = string.format("actor = 'ACTOR %d'", id % ACTORS)
   else
      where = string.format("title = '%s'", title(id))
   end
   local found = connection:query("SELECT id, title, price FROM products WHERE " .. where .. " LIMIT 10")
   if found.nrows < 1 then
      error("search: nothing where " .. where)
   end
end

-- In the order of the products' numbers, so that purchases do not wait for one another in a circle.
local function basket()
   local ids, listed = {}, {}
   for _ = 1, sysbench.rand.uniform(1, 5) do
      ids[sysbench.rand.uniform(1, sysbench.opt.products)] = sysbench.rand.uniform(1, 3)
   end
   for id in pairs(ids) do
      listed[#listed + 1] = id
   end
   table.sort(listed)
   return listed, ids
end

local function purchase()
   local id = customer()
   local listed, quantities = basket()
   local lines, total = {}, 0
   connection:query("BEGIN")
   connection:query("UPDATE customers SET orders = orders + 1 WHERE id = " .. id)
   for line, product in ipairs(listed) do
      local quantity = quantities[product]
      local price = tonumber((connection:query_row("SELECT price FROM products WHERE id = " .. product)))
      connection:query(string.format(
         "UPDATE inventory SET stock = stock - %d, sold = sold + %d WHERE id = %d", quantity, quantity,
         product))
      lines[#lines + 1] = string.format("(LAST_INSERT_ID(), %d, %d, %d, %d)", line, product, quantity, price)
      total = total + price * quantity
   end
   connection:query(string.format("INSERT INTO orders (customer, total) VALUES (%d, %d)", id, total))
   connection:query("INSERT INTO orderlines VALUES " .. table.concat(lines, ","))
   connection:query("COMMIT")
   purchases = purchases + 1
end

function event()
   local kind = sysbench.rand.uniform(1, 100)
   if kind <= sysbench.opt.buy_percent then
      purchase()
   elseif kind <= sysbench.opt.buy_percent + sysbench.opt.login_percent then
      login()
   else
      search()
   end
end

function thread_done()
   print("purchases: " .. purchases)
   connection:disconnect()
end
